"""summary.json: the keys of the contract, strict JSON, and None for missing values."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack

import numpy as np
import pytest

import hil
from hil.app.run import open_backend
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.base import FinishedRun, samples_of
from hil.experiments.registry import summarise
from hil.experiments.summary import FILE_NAME, write_summary
from hil.messages.fault import Alarm, Event, Fault
from hil.messages.signals import PHASES
from hil.recording import read_trial
from hil.simulator.ground_truth import GroundTruth

SHORT = ["trial.start_distance_m=0.03", "trial.ramp_s=0.2", "trial.settle_s=0.5", "record.after_s=0.5"]
MEASURED = {  # need all samples
    "onset_s", "onset_u95_s", "peak_force_u95_N", "sum_of_peaks_u95_N", "corrected_peak_force_u95_N",
    "corrected_sum_of_peaks_u95_N",
    "impulse_Ns", "impulse_u95_Ns", "impulse_by_sensor_Ns", "impulse_middle_by_sensor_s",
    "force_duration_s", "force_duration_u95_s", "rise_time_s", "rise_time_u95_s",
    "grouser_hits", "load_point_u95_m", "vibration_hz",
}  # fmt: skip
# from real_time_factor on the keys are not in the contract
GROUSERS = {"grouser_offset_deg", "grouser_pitch_deg"}  # none of a smooth wheel
OF_MOTION = {  # none without instruments of motion
    "impact_speed_sd_mps", "effective_kinetic_energy_sd_J", "approach_angle_deg", "approach_angle_sd_deg",
    "hit_across_m", "hit_across_sd_m", "hit_height_m", "hit_height_sd_m", "judged_without",
}  # fmt: skip
KEYS = {
    "angle_deg", "impact_speed_mps", "contact_force_peak_N", "peak_force_N", "impact_peak_force_N",
    "sum_of_peaks_N", "corrected_peak_force_N", "corrected_sum_of_peaks_N",
    "effective_kinetic_energy_J", "effective_kinetic_energy_plant_J", "load_point_m", "impact_time_s",
    "contact_duration_s", "cut_latency_ms", "accepted", "reasons", "aborted", "clock", "seed", "loop", "config_sha256",
    "version", "real_time_factor", "cut_effective_ms", "links", "machine", "simulated_rig", "experiment",
    "release",
    "effective_kinetic_energy_on_ground_J", "effective_kinetic_energy_plant_on_ground_J",
    "impact_speed_measured_mps", "quality", "residuals", *MEASURED, *GROUSERS, *OF_MOTION,
    "truth_check",  # of every run: what is known beside what it says (decision 111)
    "mobility",  # of every run, worked out of its record afterwards (decision 98)
}  # fmt: skip
LOOP_KEYS = {
    "rate_hz", "ticks", "late", "skipped", "work_us", "wake_us", "plant_us", "phases_us", "far_end", "long_ticks",
}  # fmt: skip
OF_A_HIT = {
    "impact_speed_mps", "contact_force_peak_N", "peak_force_N", "impact_peak_force_N", "sum_of_peaks_N",
    "corrected_peak_force_N", "corrected_sum_of_peaks_N", "effective_kinetic_energy_J",
    "effective_kinetic_energy_plant_J", "load_point_m", "impact_time_s", "contact_duration_s", "cut_latency_ms",
    "cut_effective_ms", "effective_kinetic_energy_on_ground_J", "effective_kinetic_energy_plant_on_ground_J",
    "impact_speed_measured_mps", *MEASURED, *GROUSERS, *OF_MOTION,
}  # fmt: skip

OF_REAL_TIME = {"links", "machine", "simulated_rig"}


class Run:
    """The parts of a trial on the simulated rig that its summary needs."""

    def __init__(self, folder, overrides=(), stop: str | None = None) -> None:
        self.config = load_config("sim_impact", [*SHORT, "telemetry.endpoint=''", *overrides], seed=5)
        with ExitStack() as stack:
            self.rig = open_backend(Rig(self.config), folder, lambda _: None, stack)
            self.rig.rig_io.open()
            if stop:
                self.rig.loop.stop(stop)
            self.rig.loop.run()
            self.rig.rig_io.close()
        self.record = read_trial(folder, trusted=True)

    def summary(self, ground_truth=None, wall_s: float = 0.5, simulated_rig=None, events=None):
        rig = self.rig
        ground_truth, clock = ground_truth or rig.ground_truth, rig.loop.clock
        return summarise(
            FinishedRun(
                Rig(self.config),
                rig.cycle,
                clock,
                ground_truth,
                self.record.tick,
                self.record.timing,
                self.record.events if events is None else events,
                simulated_rig,
                None,
                wall_s,
                *samples_of(self.record, self.config.record),
            )
        )


@pytest.fixture(scope="module")
def hit(tmp_path_factory) -> Run:
    return Run(tmp_path_factory.mktemp("hit"))


@pytest.fixture(scope="module")
def refused(tmp_path_factory) -> Run:
    """Never armed: the bias of a sensor is far too large."""
    return Run(tmp_path_factory.mktemp("refused"), ["daq.channels.0.bias_V=1.0"])


def numbers_in(value) -> list[float]:
    if isinstance(value, dict):
        return numbers_in(list(value.values()))
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    return [value] if isinstance(value, float) else []


def test_keys_are_exactly_those_of_the_contract(hit, refused):
    for run in (hit, refused):
        summary = run.summary()
        assert set(summary) == KEYS
        assert set(summary["loop"]) == LOOP_KEYS
        assert set(summary["loop"]["work_us"]) == {"p50", "p99", "p99_9", "max"}
        assert summary["loop"]["wake_us"] is None


def test_a_hit_has_all_its_numbers(hit):
    summary = hit.summary()
    assert {key for key in KEYS if summary[key] is None} == OF_REAL_TIME | GROUSERS | OF_MOTION
    assert all(map(math.isfinite, numbers_in(summary)))
    assert (summary["accepted"], summary["reasons"], summary["aborted"]) == (True, [], False)
    assert summary["contact_duration_s"] > 0.0
    assert summary["cut_latency_ms"] > 0.0
    assert len(summary["load_point_m"]) == 2


@pytest.mark.parametrize(
    ("fault", "reasons"),
    [(Fault.ADC_SATURATED, ["a sensor reached the end of its range"]), (Fault.COMMAND_REFUSED, [])],
)
def test_of_the_warnings_only_a_saturated_sensor_spoils_a_trial(hit, monkeypatch, fault, reasons):
    monkeypatch.setattr(hit.rig.cycle.safety, "warnings", [Event(Alarm(fault, math.nan, math.nan, ""), 1, 0)])
    assert hit.summary()["reasons"] == reasons


def test_what_is_said_of_the_config_is_the_configs(hit):
    summary, config = hit.summary(), hit.config
    assert (summary["angle_deg"], summary["clock"], summary["seed"]) == (60.0, "lockstep", 5)
    assert (summary["config_sha256"], summary["version"]) == (config.sha256(), hil.__version__)


def test_force_and_energy_of_sensors_and_plant_agree(hit):
    summary = hit.summary()
    assert summary["peak_force_N"] == pytest.approx(0.5 * summary["contact_force_peak_N"], rel=0.2)  # one wheel of two
    assert summary["corrected_sum_of_peaks_N"] >= summary["corrected_peak_force_N"]
    assert summary["impact_peak_force_N"] == summary["corrected_peak_force_N"]
    twin, plant = summary["effective_kinetic_energy_J"], summary["effective_kinetic_energy_plant_J"]
    assert twin == pytest.approx(plant, rel=0.3)


def test_where_nothing_was_hit_there_is_none(refused):
    summary = refused.summary()
    assert {key for key in KEYS if summary[key] is None} == OF_A_HIT | OF_REAL_TIME
    assert (summary["accepted"], summary["aborted"]) == (False, True)
    assert [reason[:27] for reason in summary["reasons"]] == ["not armed: sensor top bias "]


@pytest.mark.slow
def test_a_stop_before_anything_moved_is_none_too_and_says_why(tmp_path):
    summary = Run(tmp_path, stop="E-stop").summary()
    assert {key for key in KEYS if summary[key] is None} == OF_A_HIT | OF_REAL_TIME
    assert summary["reasons"] == ["fault 18: E-stop"]
    assert (summary["accepted"], summary["aborted"]) == (False, True)


def test_loop_figures_come_from_the_ticks(hit):
    loop, timing = hit.summary()["loop"], hit.record.timing
    assert loop["ticks"] == len(timing) == hit.rig.loop.last.number
    assert (loop["rate_hz"], loop["late"], loop["skipped"], loop["far_end"]) == (1000, 0, 0, None)
    figures = {"work": loop["work_us"], "plant": loop["plant_us"], **loop["phases_us"]}
    assert set(loop["phases_us"]) == set(PHASES)
    for name, of in figures.items():
        times_us = np.sort(timing[f"{name}_ns"]) * 1e-3
        assert of["p50"] <= of["p99"] <= of["p99_9"] <= of["max"] == times_us[-1]
        assert of["p50"] == pytest.approx(np.median(times_us), rel=1e-9)


def test_the_times_of_the_stages_add_up_to_the_work(hit):
    stages = sum(hit.record.timing[f"{phase}_ns"] for phase in PHASES)
    np.testing.assert_array_equal(stages, hit.record.timing["work_ns"])


def test_a_far_end_in_its_own_process_tells_its_own_times(hit):
    cost = {"p50": 1.0, "p99": 2.0, "p99_9": 3.0, "max": 4.0}
    loop = hit.summary(simulated_rig={"ticks": 9, "late": 2, "skipped": 1, "cost_us": cost})["loop"]
    assert (loop["plant_us"], loop["far_end"]) == (cost, {"ticks": 9, "late": 2, "skipped": 1})


def test_real_time_factor_is_virtual_over_wall_time(hit):
    ticks = hit.summary()["loop"]["ticks"]
    assert hit.summary(wall_s=0.1)["real_time_factor"] == pytest.approx(ticks / 1000 / 0.1)
    assert hit.summary(wall_s=0.0)["real_time_factor"] is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_none(hit, bad):
    ground_truth = GroundTruth(bad, bad, hit_ns=1, hit_energy=bad, hit_energy_on_ground=bad, cut_ns=2)
    summary = hit.summary(ground_truth)
    for key in (
        "impact_speed_mps",
        "contact_force_peak_N",
        "effective_kinetic_energy_plant_J",
        "effective_kinetic_energy_plant_on_ground_J",
    ):
        assert summary[key] is None
    json.dumps(summary, allow_nan=False)


def test_the_file_is_strict_json_and_holds_the_summary(hit, tmp_path):
    def refuse(constant: str):
        raise AssertionError(constant)

    write_summary(tmp_path, hit.summary())
    text = (tmp_path / FILE_NAME).read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=refuse) == hit.summary()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_summary(tmp_path, hit.summary() | {"peak_force_N": math.nan})
