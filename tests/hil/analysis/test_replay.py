"""`hil replay` reports an identical program as identical, and names every difference of another one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hil.analysis.recorded_inputs import CannotReplayError
from hil.analysis.replay import IN_SAFE, replay
from hil.app.run import run_experiment
from hil.cli import run as hil
from hil.config import load_config
from hil.config.text_io import read_yaml
from hil.config.unchecked_config import fingerprint
from hil.estimation.estimator import Estimator
from hil.messages.layout import SENSORS, Layout
from hil.messages.signals import TICK as SIGNALS
from hil.messages.signals import tick_dtype
from hil.recording import read_trial
from hil.recording.run_folder import FolderError
from hil.safety.limiter import Limiter
from hil.version import running_version
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)

KNOWN = (
    "good", "delayed", "stopped", "silent", "not_finite", "skipping", "late", "refused", "raised_after_its_row",
)  # fmt: skip
RAISED = ("raised", "raised_reading")


def differing(folder):
    """The differences by field."""
    return {difference.field: difference for difference in replay(folder).differences}


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_a_run_is_the_same_bit_for_bit(recorded, name):
    outcome = replay(recorded(name))
    assert outcome.differences == []
    assert outcome.notes == []
    assert outcome.ticks == len(read_trial(recorded(name), trusted=True).tick) > 200


@pytest.mark.slow
def test_a_realtime_run_is_the_same_bit_for_bit_whatever_happened_in_it(quick, tmp_path):
    # without rights a busy machine would be refused before arming (realtime.measure_s): another test's promise
    config = load_config("sim_impact", [*quick, "clock=realtime", "realtime.measure_s=0"])
    run_experiment(config, tmp_path, progress=lambda _: None, figure=False)
    outcome = replay(tmp_path)
    assert outcome.differences == []
    assert outcome.ticks > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", RAISED)
def test_after_a_tick_lost_in_an_exception_what_safe_decides_is_compared(recorded, edited, name):
    outcome = replay(recorded(name))
    assert outcome.differences == []
    (note,) = outcome.notes
    assert note.startswith("tick 402 ended in an exception and has no row;")
    folder = edited(name, lambda edit: edit.cells("tick", "cut", edit.tick(900), lambda _: 0))
    assert {field: d.first_tick for field, d in differing(folder).items()} == {"cut": 900}
    assert set(IN_SAFE) <= {signal.name for signal in SIGNALS}


@pytest.mark.slow
def test_another_threshold_is_found_in_the_tick_that_would_have_cut(edited):
    folder = edited("good", lambda edit: edit.config("threshold_N: 10.0", "threshold_N: 40.0"))
    outcome = replay(folder)
    found = {difference.field: difference for difference in outcome.differences}
    ticks = read_trial(folder, trusted=True).tick
    impact = int(ticks["tick"][ticks["impact"].argmax()])
    later = found["cut"].ticks
    assert (found["cut"].first_tick, found["cut"].recorded, found["cut"].replayed) == (impact, 1, 0)
    assert found["impact"].first_tick == impact
    assert found["impact"].ticks == later > 1
    assert found["event"].first_tick == impact
    assert found["event"].recorded == f"impact, {read_trial(folder, trusted=True).events['t_ns'][0]} ns"
    assert found["event"].replayed is None
    assert found["set_speed_radps"].largest == pytest.approx(0.07 / 0.175, rel=0.1)
    assert outcome.differences[0].first_tick == impact
    assert not {"daq_sequence", "wheel_speed_radps", "pressure_Pa", "t_ns", "force_N"} & set(found)
    assert outcome.notes == ["the config in the record is not the one of the run: its checksum differs"]


@pytest.mark.slow
def test_a_record_from_before_a_key_was_there_is_replayed_with_its_default(edited):
    def older(edit):
        edit.config("  awake: true\n", "")
        edit.meta("config_sha256", fingerprint(read_yaml(edit["meta/config"][()].decode(), "")[0]))

    outcome = replay(edited("good", older))
    assert outcome.differences == []
    assert outcome.notes == ["the config of the run lacks keys that this version has: they take their defaults"]


@pytest.mark.slow
def test_one_sample_changed_is_found_in_the_tick_that_took_it_in(edited):
    folder = edited("good", lambda edit: edit["daq/raw"].__setitem__((18_000, 1), edit["daq/raw"][18_000, 1] + 1e-9))
    found = differing(folder)
    ticks, blocks = read_trial(folder, trusted=True).tick, read_trial(folder, trusted=True).blocks
    taken = ticks["tick"][(ticks["daq_sequence"] >= blocks["sequence"][18_000 // 60]).argmax()]
    assert found["force_N"].first_tick == taken
    assert found["force_N"].element == (1,)
    assert 0.0 < found["force_N"].largest < 1e-6
    assert min(difference.first_tick for difference in found.values()) == taken


@pytest.mark.slow
def test_a_difference_of_one_bit_and_one_of_nan_are_found(edited):
    def change(edit):
        row = edit.tick(600)
        edit.cells("tick", "speed_mps", row, lambda speed: np.nextafter(speed, 1.0))
        edit.cells("tick", "load_point_m", row, lambda _: (0.0, np.nan))
        edit.cells("tick", "set_speed_radps", edit.tick(100), lambda _: -0.0)

    found = differing(edited("good", change))
    assert set(found) == {"speed_mps", "load_point_m", "set_speed_radps"}
    assert (found["speed_mps"].first_tick, found["speed_mps"].ticks) == (600, 1)
    assert 0.0 < found["speed_mps"].largest < 1e-15
    assert found["load_point_m"].element == (0,)
    assert found["load_point_m"].largest is None
    assert (found["set_speed_radps"].first_tick, found["set_speed_radps"].largest) == (100, 0.0)


@pytest.mark.slow
def test_another_limiter_is_found(recorded, monkeypatch):
    folder, check = recorded("good"), Limiter.check

    def slower(limiter, tick, request, *angles):
        limiter._limit = 0.2
        return check(limiter, tick, request, *angles)

    monkeypatch.setattr(Limiter, "check", slower)
    found = differing(folder)
    assert found["set_speed_radps"].replayed == 0.2
    assert found["clamped"].first_tick == found["set_speed_radps"].first_tick
    assert found["safe"].first_tick == found["clamped"].first_tick + 19
    assert " ns: limiter: 20 commands in a row out of limit: front_left asked for 0." in found["event"].replayed


def test_an_exception_of_todays_program_is_a_difference(recorded, monkeypatch):
    folder, estimate = recorded("good"), Estimator.estimate

    def fails(estimator, samples):
        if samples.t_ns == 500_000_000:
            raise ZeroDivisionError("today")
        return estimate(estimator, samples)

    monkeypatch.setattr(Estimator, "estimate", fails)
    outcome = replay(folder)
    (difference,) = outcome.differences
    assert (difference.field, difference.first_tick) == ("exception", 500)
    assert difference.replayed == "ZeroDivisionError: today"
    assert outcome.ticks == 499


@pytest.mark.slow
def test_a_fault_that_today_would_not_see_is_found(recorded, monkeypatch):
    folder = recorded("not_finite")
    monkeypatch.setattr("hil.safety.limits.BAD_TICKS_ALLOWED", 10)
    found = differing(folder)
    assert found["safe"].first_tick == 404
    assert found["event"].recorded.startswith("sample_not_finite, 404000000 ns: DAQ: samples that are not finite")
    assert (found["event"].first_tick, found["event"].replayed) == (404, None)


@pytest.mark.slow
def test_a_record_that_ends_early_is_replayed_as_far_as_it_goes(edited):
    folder = edited("good", lambda edit: edit.drop_blocks(580, 9999))
    outcome = replay(folder)
    assert outcome.differences == []
    assert outcome.ticks == 1159  # tick 1160 reads block 580
    left_out = len(read_trial(folder, trusted=True).tick) - 1159
    assert outcome.notes == [f"{left_out} ticks at the end were left out: their sensor samples are not in the record"]


@pytest.mark.slow
def test_a_nan_is_a_nan(edited):
    other_nan = np.array([0xFFF8_0000_0000_0001], np.uint64).view(float)[0]
    folder = edited("good", lambda edit: edit.cells("tick", "load_point_m", edit.tick(100), lambda _: other_nan))
    assert replay(folder).differences == []


def test_a_replay_does_not_ask_for_room_on_the_disk(recorded, monkeypatch):
    folder = recorded("good")
    monkeypatch.setattr("hil.safety.arming.DISK_NEEDED", 2**62)
    assert replay(folder).differences == []


@pytest.mark.slow
def test_a_record_that_ends_with_its_fault_is_the_same(edited):
    folder = edited("raised_after_its_row", lambda edit: edit.keep("tick", edit["tick"]["tick"] <= 402))
    assert replay(folder).differences == []


def jump(edit, ticks):
    """From tick 401 on, as if the clock had skipped so many."""
    for name in ("tick", "timing"):
        edit.cells(name, "tick", slice(400, None), lambda number: number + ticks)
    edit.cells("tick", "t_ns", slice(400, None), lambda t: t + ticks * 1_000_000)


CANNOT = {
    "a burst": ("burst", lambda _: None, "record.sensors is burst, and a replay needs all sensor samples"),
    "blocks missing": ("good", lambda edit: edit.drop_blocks(201, 203), r"blocks 201\.\.203 of the sensor samples"),
    "a block not whole": (
        "good", lambda edit: edit.cells("daq/blocks", "samples", 200, lambda n: n - 1), r"blocks 201\.\.201 of the",
    ),
    "a tick missing": ("good", lambda edit: edit.drop_tick(500), r"ticks 500\.\.500 are not in .* clock skipped 0"),
    "a time that jumps": (
        "good", lambda edit: edit.cells("tick", "t_ns", slice(400, None), lambda t: t + 31_536_000_000_000_000),
        r"tick times: tick 401 at \d+ ns",
    ),
    "a hundred days that the clock has skipped": (
        "good", lambda edit: jump(edit, 8_640_000_000), "tick times: all on the grid; the last tick is 8640001182",
    ),
    "half of the samples in another age": (
        "good", lambda edit: edit["daq/t_ns"].__setitem__(slice(17_000, None), 2**62), "sample times: 4611686018427",
    ),
    "every other sample in another age": (
        "good", lambda edit: edit["daq/t_ns"].__setitem__(slice(1, None, 2), 2**62), "sample times: 4611686018427",
    ),
    "blocks in another age": (
        "good", lambda edit: edit.cells("daq/blocks", "t_ns", slice(300, None), lambda t: t + 2**62), "sample times: 4",
    ),
    "no tick": ("good", lambda edit: edit.keep("tick", edit["tick"]["tick"] < 0), "no tick in the record"),
    "an unknown config": (
        "good", lambda edit: edit.config("threshold_N:", "threshold_lbf:"), "config is not one of version",
    ),
    "rows of another version": ("good", lambda edit: edit.fields("tick", ["tick", "t_ns", "cut"]), "rows of /tick"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", CANNOT)
def test_what_a_record_lacks_is_said_in_one_sentence(edited, kind):
    name, change, words = CANNOT[kind]
    folder = edited(name, change)
    with pytest.raises(CannotReplayError, match=words) as error:
        replay(folder)
    assert str(error.value).startswith(f"{folder} cannot be replayed: ")
    assert "\n" not in str(error.value)


def test_a_folder_without_a_record_is_refused(tmp_path):
    with pytest.raises(FolderError, match=r"holds no trial\.h5"):
        replay(tmp_path)


@pytest.mark.slow
def test_exit_status_and_json_say_what_was_found(recorded, edited, tmp_path, capsys):
    ticks = len(read_trial(recorded("good"), trusted=True).tick)
    assert hil(["replay", str(recorded("good"))]) == 0
    assert capsys.readouterr().out == f"identical: {ticks} ticks, bit for bit\n"
    folder = edited("good", lambda edit: edit.cells("tick", "load_point_m", edit.tick(100), lambda _: 0.0))
    assert hil(["replay", str(folder), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["identical"] is False
    assert (result["ticks"], result["version"], result["notes"]) == (ticks, running_version(), [])
    assert result["differences"] == [
        {
            "field": "load_point_m", "first_tick": 100, "element": [0],
            "recorded": 0.0, "replayed": "nan", "ticks": 1, "largest": None,
        }
    ]  # fmt: skip
    assert hil(["replay", str(folder)]) == 1
    assert "load_point_m[0]" in capsys.readouterr().out
    assert hil(["replay", str(recorded("burst"))]) == 2
    assert "record.sensors is burst" in capsys.readouterr().err
    assert hil(["replay", str(tmp_path)]) == 2


@pytest.mark.slow
def test_another_version_is_named_beside_todays(recorded, capsys, monkeypatch):
    run = recorded("good")  # before the version is another: other tests share this run
    monkeypatch.setattr("hil.analysis.replay.running_version", lambda: "99.0")
    assert hil(["replay", str(run)]) == 0
    assert (
        f"recorded by version {read_trial(run, trusted=True).meta['version']}, replayed by 99.0"
        in capsys.readouterr().out
    )
