"""Limits on what files of data may hold, each with what is just allowed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hil.config import load_config, shipped_configs
from hil.config.files import DEEPEST as DEEPEST_JSON
from hil.config.files import parse_json, read_json, read_text
from hil.config.text_io import DEEPEST, MOST_BYTES, MOST_VALUES, read_yaml


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("good", "bad", "found"),
    [
        (nested(DEEPEST), nested(DEEPEST + 1), f"nested deeper than {DEEPEST}"),
        (
            f"[{'1,' * (MOST_VALUES - 2)}1]",
            f"[{'1,' * (MOST_VALUES - 1)}1]",
            f"more than {MOST_VALUES} values",
        ),
        ("#" * MOST_BYTES, "#" * (MOST_BYTES + 1), f"{MOST_BYTES + 1} bytes"),
        ("[&a {b: 1}, *a]", "[&a {b: *a}]", "an alias inside the section that it stands for"),
    ],
)
def test_yaml_beyond_a_limit_is_refused_with_the_limit(good, bad, found):
    assert read_yaml(good, "(file)")[1] == []
    value, problems = read_yaml(bad, "(file)")
    assert value is None
    (problem,) = problems
    assert found in problem.found
    assert str(MOST_VALUES) in problem.allowed


def test_an_alias_counts_as_what_it_stands_for():
    """Twenty short lines could stand for more values than there is memory."""
    hundred = f"a: &a [{', '.join('1' * 100)}]\n"
    assert read_yaml(hundred + f"b: [{', '.join(['*a'] * 90)}]", "(file)")[1] == []
    assert read_yaml(hundred + f"b: [{', '.join(['*a'] * 100)}]", "(file)")[1] != []


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_configs())
def test_no_config_of_ours_is_near_a_limit(name):
    text = load_config(name).to_yaml()
    assert len(text) * 10 < MOST_BYTES
    assert read_yaml(text, name)[1] == []


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (nested(DEEPEST_JSON + 2), "nested deeper"),
        (nested(20_000), "nested deeper"),
        (f"[{'1,' * 40_000}1]", "values, allowed are"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ("{", "Expecting"),
    ],
)
def test_json_beyond_a_limit_is_refused(bad, found):
    with pytest.raises(ValueError, match=found):
        parse_json(bad, 2**20)


def test_json_within_the_limits_is_read(tmp_path):
    value = {"a": [1, 2.5, None, {"b": "c" * 1000}]}
    (tmp_path / "file").write_text(json.dumps(value))
    assert read_json(tmp_path / "file", 2**20) == value
    assert parse_json(nested(DEEPEST_JSON), 2**20) is not None


def test_only_a_regular_file_of_limited_size_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    assert read_text(tmp_path / "file", 5) == "12345"
    with pytest.raises(ValueError, match="5 bytes, allowed are 4"):
        read_text(tmp_path / "file", 4)
    for place in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):  # a pipe without a writer would wait for ever
        with pytest.raises(ValueError, match="no regular file"):
            read_text(place, 5)
    (tmp_path / "file").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="not text in UTF-8"):
        read_text(tmp_path / "file", 5)
