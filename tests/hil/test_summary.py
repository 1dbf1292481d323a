"""summary.json: the keys that others rely on, strict JSON, and None where there is nothing to say."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest

import hil
from hil.app import build_rig
from hil.config import load_config
from hil.record import Recorder
from hil.telemetry import Publisher
from hil.trials.summary import FILE_NAME, summarise, write_summary

SHORT = ["trial.start_distance_m=0.03", "trial.ramp_s=0.2", "trial.settle_s=0.5", "record.after_s=0.5"]
# as the contract lists them; real_time_factor is ours
KEYS = {
    "angle_deg", "impact_speed_mps", "contact_force_peak_N", "peak_force_N", "sum_of_peaks_N",
    "effective_kinetic_energy_J", "effective_kinetic_energy_plant_J", "load_point_m", "impact_time_s",
    "contact_duration_s", "cut_latency_ms", "accepted", "reasons", "aborted", "clock", "seed", "loop", "config_sha256",
    "version", "real_time_factor",
}  # fmt: skip
OF_A_HIT = {
    "impact_speed_mps", "contact_force_peak_N", "peak_force_N", "sum_of_peaks_N", "effective_kinetic_energy_J",
    "effective_kinetic_energy_plant_J", "load_point_m", "impact_time_s", "contact_duration_s", "cut_latency_ms",
}  # fmt: skip


class Run:
    """A trial on the simulated rig, as far as its summary needs it."""

    def __init__(self, folder, overrides=(), stop: str | None = None) -> None:
        self.config = load_config("sim_impact", [*SHORT, *overrides], seed=5)
        rate = self.config.daq.rate_hz
        with (
            Recorder(folder, meta={}, channels=3, sample_rate_hz=rate, flush_ns=40_000_000, before_s=0.5, after_s=0.5)
            as recorder,
            Publisher("", 100, self.config.loop.rate_hz, 0.0) as publisher,
        ):  # fmt: skip
            self.rig = build_rig(self.config, recorder, publisher, folder)
            self.rig.devices.open()
            if stop:
                self.rig.loop.stop(stop)
            self.rig.loop.run()
            self.rig.devices.close()

    def summary(self, truth=None, wall_s: float = 0.5):
        return summarise(self.config, self.rig.cycle, self.rig.loop.clock, truth or self.rig.far_end.plant, wall_s)


@pytest.fixture(scope="module")
def hit(tmp_path_factory) -> Run:
    return Run(tmp_path_factory.mktemp("hit"))


@pytest.fixture(scope="module")
def refused(tmp_path_factory) -> Run:
    """Never armed: a sensor's bias is far off."""
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
        assert set(summary["loop"]) == {"rate_hz", "ticks", "late", "skipped", "work_us", "wake_us", "plant_us"}
        assert set(summary["loop"]["work_us"]) == {"p50", "p99", "p99_9", "max"}
        assert summary["loop"]["wake_us"] is None


def test_a_hit_has_all_its_numbers(hit):
    summary = hit.summary()
    assert {key for key in KEYS if summary[key] is None} == set()
    assert all(map(math.isfinite, numbers_in(summary)))
    assert (summary["accepted"], summary["reasons"], summary["aborted"]) == (True, [], False)
    assert summary["contact_duration_s"] > 0.0
    assert summary["cut_latency_ms"] > 0.0
    assert len(summary["load_point_m"]) == 2


def test_what_is_said_of_the_config_is_the_configs(hit):
    summary, config = hit.summary(), hit.config
    assert (summary["angle_deg"], summary["clock"], summary["seed"]) == (60.0, "lockstep", 5)
    assert (summary["config_sha256"], summary["version"]) == (config.sha256(), hil.__version__)


def test_force_and_energy_of_sensors_and_plant_agree(hit):
    summary = hit.summary()
    assert summary["peak_force_N"] == pytest.approx(0.5 * summary["contact_force_peak_N"], rel=0.2)  # one wheel of two
    assert summary["sum_of_peaks_N"] >= summary["peak_force_N"]
    twin, plant = summary["effective_kinetic_energy_J"], summary["effective_kinetic_energy_plant_J"]
    assert twin == pytest.approx(plant, rel=0.3)


def test_where_nothing_was_hit_there_is_none(refused):
    summary = refused.summary()
    assert {key for key in KEYS if summary[key] is None} == OF_A_HIT
    assert (summary["accepted"], summary["aborted"]) == (False, True)
    assert [reason[:27] for reason in summary["reasons"]] == ["not armed: sensor top bias "]


def test_a_stop_before_anything_moved_is_none_too_and_says_why(tmp_path):
    summary = Run(tmp_path, stop="E-stop").summary()
    assert {key for key in KEYS if summary[key] is None} == OF_A_HIT
    assert summary["reasons"] == ["fault 18: E-stop"]
    assert (summary["accepted"], summary["aborted"]) == (False, True)


def test_loop_figures_come_from_the_ticks(hit):
    loop, scribe = hit.summary()["loop"], hit.rig.cycle.scribe
    assert loop["ticks"] == len(scribe.work_ns) == hit.rig.loop.last.number
    assert (loop["rate_hz"], loop["late"], loop["skipped"]) == (1000, 0, 0)
    for key, times_ns in (("work_us", scribe.work_ns), ("plant_us", scribe.plant_ns)):
        figures = loop[key]
        assert figures["p50"] <= figures["p99"] <= figures["p99_9"] <= figures["max"] == max(times_ns) * 1e-3
        assert figures["p50"] == pytest.approx(sorted(times_ns)[len(times_ns) // 2] * 1e-3, rel=0.05)


def test_real_time_factor_is_virtual_over_wall_time(hit):
    ticks = hit.summary()["loop"]["ticks"]
    assert hit.summary(wall_s=0.1)["real_time_factor"] == pytest.approx(ticks / 1000 / 0.1)
    assert hit.summary(wall_s=0.0)["real_time_factor"] is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_none(hit, bad):
    truth = SimpleNamespace(
        hit_ns=1, hit_speed=bad, contact_force_peak=bad, effective_kinetic_energy_when_hit=lambda: bad
    )
    summary = hit.summary(truth)
    for key in ("impact_speed_mps", "contact_force_peak_N", "effective_kinetic_energy_plant_J"):
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
