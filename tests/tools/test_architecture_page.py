"""docs/explanation/architecture.md agrees with the code: its table, its picture and its names."""

from __future__ import annotations

import importlib
import re

import pytest

from hil.messages.signals import PHASES


@pytest.fixture(scope="module")
def page(root) -> str:
    return (root / "docs/explanation/architecture.md").read_text(encoding="utf-8")


def test_the_table_of_the_memory_is_what_the_code_says(code_reading, page):
    assert code_reading.memory_table() in page, "run make docs"


def test_the_stages_of_the_picture_are_those_of_a_tick(code_reading):
    assert tuple(stage.name for stage in code_reading.stages()) == PHASES


def test_each_ring_and_mailbox_has_one_writer(code_reading):
    boxes = code_reading.boxes()
    used = {process: code_reading.uses(process, boxes) for process in code_reading.PROCESSES}
    for name, kind in boxes.items():
        writers = [process for process, found in used.items() if name in found.writes]
        if kind in ("ring", "mailbox"):
            assert len(writers) <= 1, (name, writers)
    for name in ("sampled", "newest", "device_commands", "ticks", "events"):
        assert any(name in found.writes for found in used.values()), name
        assert any(name in found.reads for found in used.values()), name


def test_every_name_of_the_page_is_in_the_code(page):
    names = {name.rstrip(".") for name in re.findall(r"`((?:hil|drivers|models)\.[\w.]+)`", page)}
    assert len(names) > 20
    for name in sorted(names):
        importlib.import_module(name)
