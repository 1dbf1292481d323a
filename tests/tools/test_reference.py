"""`make lint` fails unless the tables of docs/reference agree with the code."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest

from hil.config import load_config
from hil.config.error_messages import whole_schema
from hil.messages.signals import ROWS


@pytest.fixture
def tree(root, tmp_path):
    for folder in ("reference", "explanation"):
        shutil.copytree(root / "docs" / folder, tmp_path / "docs" / folder)
    return tmp_path


def check(reference, tree) -> int:
    return reference.main(["--check", "--root", str(tree)])


def test_the_pages_are_what_the_code_says(reference, tree, capsys):
    assert check(reference, tree) == 0, capsys.readouterr().err


def test_a_changed_unit_of_a_field_makes_the_check_fail_until_it_is_written(reference, tree, capsys, monkeypatch):
    words, signals = ROWS["tick"]
    changed = tuple(one._replace(unit="%") if one.name == "slip" else one for one in signals)
    monkeypatch.setitem(ROWS, "tick", (words, changed))
    assert check(reference, tree) == 1
    said = capsys.readouterr().err
    assert "record.md" in said
    assert "make docs" in said
    assert reference.main(["--write", "--root", str(tree)]) == 0
    assert check(reference, tree) == 0


@pytest.mark.parametrize(("of_key", "value"), [("default", 61.0), ("maximum", 80), ("description", "another one")])
def test_a_changed_config_key_makes_the_check_fail(reference, tree, capsys, monkeypatch, of_key, value):
    monkeypatch.setitem(whole_schema()["$defs"]["TrialConfig"]["properties"]["angle_deg"], of_key, value)
    assert check(reference, tree) == 1
    assert "angle_deg" in capsys.readouterr().err


def test_a_page_without_its_table_is_refused(reference, tree):
    (tree / "docs/reference/record.md").write_text("# trial.h5\n", encoding="utf-8")
    with pytest.raises(ValueError, match="record"):
        check(reference, tree)


# Keys that are the names of a rig's parts.
PARTS = {
    "EACH VALVE": ("left_extend", "left_retract", "right_extend", "right_retract"),
    "EACH REGULATOR": ("left", "right"),
}


def keys_of(page: str) -> set[str]:
    """Dotted keys and sections that the tables of a page have."""
    found, sections = set(), [""]
    for line in page.splitlines():
        if line.startswith("### "):
            sections = re.findall(r"`([\w.\[\]]+)`", line) or [""]
            found |= {section.removesuffix("[]") for section in sections}
        elif line.startswith("| `"):
            keys = re.findall(r"`([^`]+)`", line.split(" | ")[0])
            named = [one for key in keys for one in PARTS.get(key, (key,))]
            found |= {f"{section}.{one}".lstrip(".") for section in sections for one in named}
    return found


def dotted(values: dict, path: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield path + key
        if isinstance(value, dict):
            yield from dotted(value, f"{path}{key}.")


@pytest.mark.parametrize("name", ["sim_impact", "mars_dome"])
def test_every_key_of_an_effective_config_is_in_the_reference(reference, name):
    config = load_config(name).model_dump(mode="json")
    config["residuals"]["calibration"] = None  # the content of a file, by names of the rig
    assert set(dotted(config)) <= keys_of(reference.config_tables())


def test_every_key_is_described_and_says_what_it_takes(reference):
    page = reference.config_tables()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 200
    for key, takes, description in rows:
        assert description, key
        assert takes or description.startswith("as in `"), key
    for section, text in re.findall(r"^### (.+)$\n((?:(?!###).*\n)*)", page, re.MULTILINE):
        for keys, first in re.findall(r"^\| (`.+`) \|  \| as in (.+) \|$", text, re.MULTILINE):
            after = page.partition(f"\n### {first}\n")[2] or page.partition(f"\n### {first}, ")[2]
            rows_there = after.partition("\n### ")[0]
            missing = [key for key in keys.split(", ") if f"\n| {key} | " not in rows_there.partition("as in")[0]]
            assert not missing, (section, first)


def test_shapes_say_what_they_count(reference):
    rows = {line.split("`")[1]: line for line in reference.record_tables().splitlines() if line.startswith("| `")}
    assert "| wheels |" in rows["slip"]
    assert "| cylinders x 2 |" in rows["pressure_Pa"]
    assert "| channels |" in rows["force_N"]
    assert "| loads |" in rows["overload"]  # of the last table, that of /loads/blocks
    assert "| 2 (across, up) |" in rows["load_point_m"]
