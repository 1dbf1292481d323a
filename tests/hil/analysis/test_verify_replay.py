"""`hil verify` replays a run: an output that does not follow from the inputs is named, all digests made anew or not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hil.analysis.verify import verify

pytestmark = pytest.mark.slow
SOME = slice(300, 400)


def check_of(folder, item="replay"):
    (check,) = (check for check in verify(folder) if check.item == item)
    return check


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("normal_force_N", lambda forces: 1.5 * forces),
        ("speed_mps", lambda speed: speed + 1e-6),
        ("slip", np.zeros_like),
        ("effective_kinetic_energy_J", lambda energy: np.full_like(energy, np.nan)),
        ("set_speed_radps", lambda speeds: 1.01 * speeds),
        ("force_sum_N", lambda force: force + 1.0),
    ],
)
def test_an_output_changed_in_some_ticks_with_all_digests_made_anew_is_named(edited, field, change):
    folder = edited("good", lambda edit: edit.cells("tick", field, SOME, change))
    failed = {check.item: check.found for check in verify(folder) if not check.ok}
    assert "replay" in failed
    assert not {"file digest", "content digest", "summary digest"} & failed.keys()
    assert failed["replay"].startswith(f"tick 301: {field}")
    assert "100 ticks differ" in failed["replay"]


def test_an_event_that_no_tick_has_made_is_named(edited):
    def later(edit):
        rows = edit["events"][()]
        rows["t_ns"][rows["name"] == b"impact"] += 1000
        edit.rows("events", rows)

    assert "event is impact" in check_of(edited("good", later)).found


def test_the_last_bits_of_another_processor_are_no_difference(edited):
    folder = edited("good", lambda edit: edit.cells("tick", "normal_force_N", SOME, lambda force: force * (1 + 1e-12)))
    assert check_of(folder).ok


@pytest.mark.ci_cases("good", "stopped", "loads")
@pytest.mark.parametrize("name", ["good", "delayed", "stopped", "skipping", "late", "refused", "loads"])
def test_all_ticks_of_a_run_are_replayed(recorded, name):
    check = check_of(recorded(name))
    assert check.ok
    ticks = json.loads((recorded(name) / "summary.json").read_text())["loop"]["ticks"]
    assert check.found == f"{ticks} ticks the same"


def test_of_a_record_without_all_samples_it_says_that_it_was_not_replayed(recorded):
    check = check_of(recorded("burst"))
    assert check.ok
    assert check.found.startswith("not replayed: record.sensors is burst")
    assert check.found.endswith("only digests hold")
