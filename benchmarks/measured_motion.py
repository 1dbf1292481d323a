"""What measured motion does for impact trials and controlled wheel loads, against the truth of the simulated rig.

`python benchmarks/measured_motion.py line [--seeds 20]`: rovers that veer, held on their line or not.
`python benchmarks/measured_motion.py impact [--seeds 20]`: errors of impact speed, angle of approach and T_c.
`python benchmarks/measured_motion.py loads [--seeds 10]`: control of the wheel loads on ground that is tilted otherwise
than the controller was told.
`python benchmarks/measured_motion.py sources [--seeds 100]`: intervals of place, speed and slip of a followed speed, by
an instrument that is wrong in a way that no reading shows, or that the observer has to leave out.

The simulated rig deviates from the twin at random, by its seed: 5 % in each mass, 10 % in the soil, 20 % in the drives.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from hil.app.run import run
from hil.config import load_config
from hil.experiments.summary import NORMAL
from hil.simulator.ground_truth import GroundTruth
from models.plant.motion_history import TIME, X

OFF = ("plant.spread.mass=0.05", "plant.spread.soil=0.1", "plant.spread.drives=0.2", "telemetry.endpoint=''")
POSE, POSITION, DISTANCE = (f"motion={{measures: {what}}}" for what in ("pose", "position", "distance"))
IMU, JOINTS = "imu={}", "joints={}"
HELD = "trial.hold_line={}"
SETS: dict[str, tuple[str, ...]] = {
    "none": (), "distance": (DISTANCE,), "position": (POSITION,), "pose": (POSE,), "imu": (IMU,), "joints": (JOINTS,),
    "pose, imu, joints": (POSE, IMU, JOINTS),
}  # fmt: skip
LINES: dict[str, tuple[str, ...]] = {
    "not held, no instruments": (),
    "not held, pose": (POSE,),
    "held, pose": (POSE, HELD),
    "held, position": (POSITION, HELD),
    "held, pose, imu, joints": (POSE, IMU, JOINTS, HELD),
}
LOADS: dict[str, tuple[str, ...]] = {
    "none": (), "joints": (JOINTS,), "imu": (IMU,), "imu, joints": (IMU, JOINTS),
    "pose, imu, joints": (POSE, IMU, JOINTS),
}  # fmt: skip
SHORT = (
    "follow.profile=[[0, 0], [1, 0.08], [7, 0.08]]", "follow.window_from_s=3", "follow.window_s=3.5",
    "loop.rate_hz=500",
)  # fmt: skip
SOURCES: dict[str, tuple[str, ...]] = {
    "right": (),
    "late by 50 ms": ("motion.errors.late_ms=50",),
    "late by 20 ms": ("motion.errors.late_ms=20",),
    **{
        f"{fault}, {size:g}": (f"motion.errors.fault={fault}", f"motion.errors.fault_size={size}")
        for fault, size in (("biased", 0.001), ("biased", 0.002), ("biased", 0.01), ("jump", 0.005))
    },
    "frozen": ("motion.errors.fault=frozen",),
    "swapped": ("motion.errors.fault=swapped",),
}
TILT_DEG = 1.5
_NAN = float("nan")


class Hit(NamedTuple):
    """One trial.

    Attributes:
        accepted: by its rules.
        broken: names of the rules that refused it.
        heading_deg: true, at first touch.
        across_m: true, of the starboard wheel.
        peak_N: as measured.
        errors: of impact speed [m/s], angle of approach [deg] and T_c [J]; NaN: not measured.
        sds: standard deviations of the same, as the summary states them.
        energy_J: true T_c.
    """

    accepted: bool
    broken: tuple[str, ...]
    heading_deg: float
    across_m: float
    peak_N: float
    errors: tuple[float, ...]
    sds: tuple[float, ...]
    energy_J: float


def hit(job: tuple[int, Sequence[str]]) -> Hit | None:
    """A trial with that seed; None: no wheel touched the obstacle, or the sensors saw nothing."""
    seed, settings = job
    result = run(load_config("sim_impact", [*OFF, *veer(seed), *settings], seed=seed))
    summary, ground_truth = result.summary, GroundTruth.recorded(result.events)
    if ground_truth.hit_ns is None or summary["impact_time_s"] is None:
        return None
    heading, across = ground_truth.hit_heading, ground_truth.hit_across
    energy = ground_truth.hit_energy
    pairs = (
        (summary["impact_speed_measured_mps"], ground_truth.hit_speed),
        (summary["approach_angle_deg"], math.degrees(heading)),
        (summary["effective_kinetic_energy_J"], energy),
    )
    keys = "impact_speed_sd_mps", "approach_angle_sd_deg", "effective_kinetic_energy_sd_J"
    return Hit(
        summary["accepted"],
        tuple(row["rule"] for row in summary["quality"] if row["ok"] is False),
        math.degrees(heading),
        across,
        summary["peak_force_N"],
        tuple(_NAN if found is None else found - true for found, true in pairs),
        tuple(_NAN if (sd := summary[key]) is None else sd for key in keys),
        energy,
    )


def veer(seed: int) -> tuple[str, ...]:
    """Two degrees of heading, two percent of the tracks, a degree of all steering joints: each either way."""
    heading, track, steering = np.random.default_rng([seed, 7]).choice((-1.0, 1.0), 3).tolist()
    return (f"plant.veer={{heading_deg: {2 * heading}, track_error: {0.02 * track}, steering_deg: {steering}}}",)


def line(seeds: int, settings: Sequence[str]) -> None:
    """Print what of rovers that veer is accepted, and how they hit."""
    print("line                       accepted   across [mm] rms, max   heading [deg] rms, max   peak [N], sd   broken")
    for name, instruments in LINES.items():
        hits = [one for one in spread(hit, [(seed, (*instruments, *settings)) for seed in range(1, seeds + 1)]) if one]
        across, heading = (np.array([getattr(one, key) for one in hits]) for key in ("across_m", "heading_deg"))
        peak = np.array([one.peak_N for one in hits])
        rules = [rule for one in hits for rule in one.broken]
        broken = ", ".join(f"{rule} {rules.count(rule)}" for rule in dict.fromkeys(rules))
        print(
            f"{name:25} {sum(one.accepted for one in hits):3} of {seeds}   {1e3 * rms(across):8.1f} "
            f"{1e3 * abs(across).max():8.1f}   {rms(heading):12.3f} {abs(heading).max():8.3f}   {peak.mean():11.1f} "
            f"{peak.std():5.1f}   {broken}",
            flush=True,
        )


def impact(seeds: int, settings: Sequence[str]) -> None:
    """Print errors against the truth and the standard deviations stated with them, by set of instruments."""
    print("instruments         speed [mm/s] rms, sd   angle [deg] rms, sd   T_c [%] rms, sd   within 2 sd of each")
    for name, instruments in SETS.items():
        hits = [one for one in spread(hit, [(seed, (*instruments, *settings)) for seed in range(1, seeds + 1)]) if one]
        errors, sds = (np.array([getattr(one, key) for one in hits]) for key in ("errors", "sds"))
        scale = np.array([1e3, 1.0, 100.0 / np.mean([one.energy_J for one in hits])])
        rows = zip(scale * np.sqrt(np.mean(errors**2, axis=0)), scale * np.mean(sds, axis=0), strict=True)
        within = [f"{(abs(errors[:, i]) <= 2.0 * sds[:, i]).sum():3}" for i in range(3)]
        print(
            f"{name:18} " + "   ".join(f"{one:10.3f} {sd:8.3f}" for one, sd in rows),
            *within,
            "of",
            len(hits),
            flush=True,
        )


def loads(seeds: int, settings: Sequence[str]) -> None:
    """Print spread and errors of controlled wheel loads, by set of instruments."""
    print("instruments        spread before   after   best   limits met   error of the loads [N]")
    for name, instruments in LOADS.items():
        jobs = [(seed, (*instruments, *settings)) for seed in range(1, seeds + 1)]
        found = np.array(list(spread(_controlled, jobs)))
        mean = np.nanmean(found, axis=0)
        print(
            f"{name:18} {mean[0]:12.4f} {mean[1]:9.4f} {mean[2]:6.4f} {int(found[:, 3].sum()):6} of {seeds} "
            f"{mean[4]:15.2f}",
            flush=True,
        )


def _controlled(job: tuple[int, Sequence[str]]) -> list[float]:
    seed, settings = job
    pitch, roll = (TILT_DEG * np.random.default_rng([seed, 8]).choice((-1.0, 1.0), 2)).tolist()
    tilt = (f"plant.ground_pitch_deg={pitch}", f"plant.ground_roll_deg={roll}")
    result = run(load_config("sim_normal_force", [*OFF, *tilt, *settings], seed=seed))
    found, errors = result.summary["normal_force"], result.summary["load_error_N"]["twin"]
    values = [found[key] for key in ("spread_before", "spread_after", "spread_best", "limits_met")]
    return [_NAN if value is None else float(value) for value in values] + [rms(np.array(errors))]


def sources(seeds: int, settings: Sequence[str]) -> None:
    """Print of each source how many runs are accepted, and in how many of these each interval holds the truth."""
    print("source           accepted   place   speed    slip held   drift [mm/s]   late [ms]    place: half-width [mm]")
    for name, fault in SOURCES.items():
        found = np.array(list(spread(_followed, [(seed, (*fault, *settings)) for seed in range(1, seeds + 1)])))
        counted = found[found[:, 0] > 0.0]
        held = " ".join(f"{int(one):7}" for one in counted[:, 1:4].sum(axis=0))
        spreads = " ".join(
            f"{np.nanmean(one):7.2f} ({np.nanstd(one):.2f})" if np.isfinite(one).any() else "      -"
            for one in found.T[4:6]
        )
        widest = f"{1e3 * counted[:, 6].max():.1f}" if len(counted) else "-"
        print(f"{name:16} {len(counted):3} of {seeds} {held}        {spreads}   {widest}", flush=True)


def _followed(job: tuple[int, Sequence[str]]) -> list[float]:
    """Accepted; place, speed and slip within their intervals; drift [mm/s] and delay [ms]; half-width of the place [m].

    The place is that at the last time of the true motion before the cut. Its interval is as the observer's page says.
    """
    seed, settings = job
    result = run(load_config("sim_follow", [*OFF, *SHORT, *settings], seed=seed))
    summary, source = result.summary, result.summary["estimation"]["sources"]["motion"]
    true = GroundTruth.recorded(result.events).motion
    driven = result.ticks[result.ticks["cut"] == 0]
    assert true is not None
    last = true[true[:, TIME] * 1e9 < driven["t_ns"][-1]][-1]
    row = driven[np.argmin(np.abs(driven["t_ns"] - last[TIME] * 1e9))]
    late_s, late_sd_s = (1e-3 * source.get(key, math.nan) for key in ("late_ms", "late_sd_ms"))
    drift_mps, drift_sd_mps = source.get("drift_mps", math.nan), source.get("drift_sd_mps", math.nan)
    half_m = math.hypot(
        NORMAL * row["pose_sd"][0],
        math.hypot(late_s, NORMAL * late_sd_s) * row["speed_mps"],
        math.hypot(drift_mps, NORMAL * drift_sd_mps) * last[TIME],
    )
    held = [abs(row["pose"][0] - last[X]) <= half_m]
    for key in ("speed_mps", "slip"):
        half = summary["speed_u95_mps" if key == "speed_mps" else "slip_u95"]
        held.append(half is not None and abs(summary[key] - summary[f"true_{key}"]) <= half)
    return [summary["accepted"], *held, 1e3 * drift_mps, 1e3 * late_s, half_m]


def rms(values: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def spread(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
    """The answers in the order of the jobs, by as many processes as there are processors."""
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(jobs))) as pool:
        yield from pool.map(work, jobs)


def main() -> None:
    """Run one of the tables."""
    tables: dict[str, Callable[[int, Sequence[str]], None]] = {
        "line": line, "impact": impact, "loads": loads, "sources": sources,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=tables)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", action="append", default=[], help="name of a row; by default all")
    parser.add_argument("--set", action="append", default=[], help="another setting of the config")
    asked = parser.parse_args()
    for rows in (SETS, LINES, LOADS, SOURCES):
        for name in [name for name in rows if asked.only and name not in asked.only]:
            del rows[name]
    tables[asked.table](asked.seeds, asked.set)


if __name__ == "__main__":
    main()
