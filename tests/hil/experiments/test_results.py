"""A result is declared once: every key of a summary is declared, explained in the reference, and shown from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.app.run import run
from hil.config import load_config
from hil.experiments.registry import BUILT_IN
from hil.experiments.summary_table import EVERY_RUN, SummaryKey, inner, result_rows
from hil.messages.fault import Check

PAGE = Path(__file__).parents[3] / "docs/reference/summary.md"
DECLARED = {kind.name: kind.results for kind in BUILT_IN}
CONFIGS = {
    "crossing": ["sim_step"],
    "drive": ["sim_juno"],
    "jog": ["sim_impact", "experiment=jog", "jog.wheels=[all]"],
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_key_is_declared_once_and_stands_in_the_reference(name):
    keys = [key for one in (*DECLARED[name], *EVERY_RUN) for key in one.keys]
    assert len(keys) == len(set(keys))
    page = PAGE.read_text()
    assert [key for key in keys if f"`{key}`" not in page] == []


def unknown(summary):
    """Keys of a summary that nobody declares."""
    return summary.keys() - {key for one in (*DECLARED[summary["experiment"]], *EVERY_RUN) for key in one.keys}


@pytest.mark.slow
@pytest.mark.parametrize("name", DECLARED)
def test_every_key_of_a_summary_is_declared(name, monkeypatch):
    """A run that is not armed has all keys of the others, most of them null."""
    kind = next(kind for kind in BUILT_IN if kind.name == name)
    monkeypatch.setattr(kind, "fixed_checks", (Check("arming", False, "asked", "never"),))
    config, *overrides = CONFIGS.get(name, [f"sim_{name}"])
    summary = run(load_config(config, ["telemetry.endpoint=''", *overrides])).summary
    assert (summary["experiment"], summary["aborted"]) == (name, True)
    assert not unknown(summary)
    assert result_rows(DECLARED[name], summary)


@pytest.mark.slow
def test_every_key_of_a_whole_trial_is_declared():
    assert not unknown(run(load_config("sim_impact", ["telemetry.endpoint=''"])).summary)


def test_a_row_shows_the_value_as_it_is_declared():
    summary = {
        "speed_mps": 0.0125, "none": None, "crossed": True, "shape": "two_steps", "phases_s": {"latch": 1.25},
        "wheels": ["front_left", "rear"], "way_m": 1.0, "rise_m": None, "sd": 1.0, "slip": 0.5, "slip_u95": 0.01,
        "slip_from": "twin", "pull_N": None, "pull_from": None, "steps": [{"load_N": [1.0, 2.0]}, {"load_N": None}],
    }  # fmt: skip
    rows = [
        SummaryKey("speed_mps", "", "speed", 1, "mm/s", 1e3), SummaryKey("none", "", "nothing"),
        SummaryKey("gone", "", "gone"), SummaryKey("crossed", "", "crossed"), SummaryKey("shape", "", "shape"),
        SummaryKey("phases_s", "", "phases", 2, "s"), SummaryKey("wheels", "", "wheels"),
        SummaryKey("way_m, rise_m", "", "way, rise", 2, "m"), SummaryKey("sd", "not shown"),
        SummaryKey("sd", "", "sd", when="none"), SummaryKey("sd", "", "sd", when="crossed"),
        SummaryKey("slip, slip_u95, slip_from", "", "slip", 2), SummaryKey("pull_N, pull_from", "", "pull", 0, "N"),
        SummaryKey("steps", "", rows=inner(SummaryKey("load_N", "", "loads", 0, "N"))),
    ]  # fmt: skip
    assert result_rows(rows, summary) == [
        ("speed", "12.5 mm/s"), ("nothing", "-"), ("crossed", "yes"), ("shape", "two steps"),
        ("phases", "latch 1.25 s"), ("wheels", "front left, rear"), ("way, rise", "1.00, - m"), ("sd", "1"),
        ("slip, twin", "0.50 ± 0.01"), ("pull, not known", "-"), ("step 1: loads", "1, 2 N"), ("step 2: loads", "-"),
    ]  # fmt: skip


def test_a_verdict_shows_a_number_in_the_unit_of_its_key():
    speed = SummaryKey("speed_mps", "", "speed", 1, "mm/s", 1e3, main="speed")
    assert speed.main_number == ("speed_mps", "speed", "m/s", 4)
    assert SummaryKey("peak_N", "", "peak", 1, "N", main="peak").main_number == ("peak_N", "peak", "N", 1)
