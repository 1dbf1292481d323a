"""Records of earlier versions, whose ticks lack the rover's motion, are read, verified and replayed as before."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from hil.analysis.dataset import layout_of
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.messages.layout import Layout
from hil.messages.signals import tick_dtype
from hil.recording import read_trial
from hil.recording.content import packed

pytestmark = pytest.mark.slow
MOTION = ("way_m", "gap_m", "pose", "joint_angle_rad")


def without_motion(edit):
    rows = edit["tick"][()]
    del edit.file["tick"]
    kept = [name for name in rows.dtype.names if name not in MOTION]
    edit.file.create_dataset("tick", data=packed(rows, kept), maxshape=(None,), chunks=True)
    layout = Layout.from_json(edit["meta/layout"][()].decode())
    edit.meta("layout", replace(layout, turning=(), motion=False).to_json())


@pytest.fixture
def earlier(edited, sealing):
    """The folder of a run as an earlier version has left it."""
    folder = edited("good", without_motion)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary.pop("mobility")
    assert summary.pop("truth_check")
    sealing(folder, summary)
    return folder


def test_its_rows_are_those_of_its_own_layout(earlier):
    record = read_trial(earlier)
    assert not set(MOTION) & set(record.tick.dtype.names)
    assert record.tick.dtype == tick_dtype(layout_of(record))


def test_all_checks_of_it_hold(earlier):
    assert [check.item for check in verify(earlier) if not check.ok] == []


def test_today_s_program_does_the_same_bit_for_bit(earlier):
    assert replay(earlier).differences == []
