"""How good the observer is: consistency over seeds, errors by set of instruments, cost of a tick.

`python benchmarks/estimation.py consistency [--seeds 200]` prints the normalised estimation error squared (NEES) of
place, heading, speed, rate of turn and tilt, at given times of a run-up, beside its 95 % band.
`python benchmarks/estimation.py errors [--seeds 20]` prints the errors against the truth by set of instruments.
`python benchmarks/estimation.py cost` prints what the observer takes in a tick, beside rows of `hil bench models`.
The simulated rig deviates from the twin at random: 5 % in each mass, 10 % in the soil, 20 % in the drives' gains.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from hil.app.run_loop import simulated_rig_io
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.observer import ObservedTwin
from hil.experiments.registry import build_cycle
from hil.messages.stages import Prediction
from hil.recording.sinks import MemorySink
from hil.runtime.loop import LockstepClock, Loop
from hil.simulator.simulated_rig import build_simulated_rig
from models.observer.model import HEADING, PITCH, ROLL, STATES, X
from models.plant import Plant

DRIVES = 0.20
RIG = ["telemetry.endpoint=''", "record.sensors=burst", "plant.spread.mass=0.05", "plant.spread.soil=0.10"]
UNTIL = ["trial.timeout_s=4.6"]  # for what is looked at before the impact
# What the observer is told of the simulated rig, beside the defaults: its ground is even, its wheels are as large as
# the twin's, and its heading and its steering are off by so much.
STEERING_DEG = 0.5
EVEN = [
    "estimation.unevenness_m=0", "estimation.speed=0.001", "plant.spread.heading_deg=2", "estimation.heading_deg=2",
    "estimation.curvature_radpm=0.01", "estimation.crab_deg=0.3",
]  # fmt: skip
SETS = {
    "none": (),
    "distance": ("motion={measures: distance}",),
    "position": ("motion={measures: position}",),
    "pose": ("motion={measures: pose}",),
    "imu": ("imu={}",),
    "joints": ("joints={}",),
    "all": ("motion={measures: pose}", "imu={}", "joints={}"),
}
ALL = SETS["all"]
AT_S = (1.0, 1.5, 2.0, 3.0, 4.0)
NAMES = ("x", "y", "z", "heading", "speed", "turn", "roll", "pitch")
Tick = Callable[[int, Plant, ObservedTwin, Prediction], None]


def drive(seed: int, settings: Sequence[str], look: Tick) -> Plant:
    """A trial with that seed; `look` is called in each tick."""
    chance = np.random.default_rng([seed, 2])
    steering = (STEERING_DEG * chance.standard_normal(6)).round(4).tolist()
    config = load_config("sim_impact", [f"seed={seed}", f"plant.veer.steering_deg={steering}", *RIG, *settings])
    rig = Rig(config)
    nominal = rig.simulated.drive
    names = ("gain", "integral_gain", "gear_friction", "coast_damping")
    gains = {name: getattr(nominal, name) * max(1.0 + DRIVES * chance.standard_normal(), 0.1) for name in names}
    vars(rig)["simulated"] = replace(rig.simulated, drive=nominal._replace(**gains))
    simulated = build_simulated_rig(rig)
    devices = simulated_rig_io(rig.layout, simulated)
    cycle = build_cycle(rig, devices, MemorySink(rig.layout), None, timed=False)
    twin: Any = cycle.twin
    predict = twin.predict

    def looked_at(samples: Any, estimate: Any) -> Prediction:
        prediction: Prediction = predict(samples, estimate)
        look(samples.t_ns, simulated.plant, twin, prediction)
        return prediction

    twin.predict = looked_at
    devices.open()
    Loop(LockstepClock(simulated, config.loop.rate_hz), cycle).run()
    devices.close()
    return simulated.plant


def errors_of(plant: Plant, twin: ObservedTwin) -> tuple[np.ndarray, np.ndarray]:
    """Errors (8,) of the estimate, in the order of NAMES, and their covariance (8, 8)."""
    outputs = twin._outputs
    true, found = plant._state, outputs
    e = np.zeros(len(NAMES))
    e[:3] = true.q[:3] - found.q[:3]
    turn = Rotation.from_quat(true.q[3:7]) * Rotation.from_quat(found.q[3:7]).inv()
    base = Rotation.from_quat(found.q[3:7])
    e[3] = turn.as_rotvec()[2]
    e[6:] = base.inv().apply(turn.as_rotvec())[:2]
    e[4], e[5] = true.v[0] - found.v[0], true.v[5] - found.v[5]
    H = np.zeros((len(NAMES), STATES))
    for row, state in enumerate((X, X + 1, X + 2, HEADING)):
        H[row, state] = 1.0
    H[4], H[5] = outputs.h[0], outputs.h[1]
    H[6, ROLL] = H[7, PITCH] = 1.0
    return e, H @ outputs.observer.now.P @ H.T


def _consistency(job: tuple[int, Sequence[str]]) -> np.ndarray:
    """(times, 1 + quantities) NEES of all, and squared normalised error of each, of one seed."""
    seed, settings = job
    found = np.full((len(AT_S), 1 + len(NAMES)), np.nan)
    at_ns = [round(at * 1e9) for at in AT_S]

    def look(t_ns: int, plant: Plant, twin: ObservedTwin, _: Prediction) -> None:
        if t_ns in at_ns and plant.hit_ns is None:
            e, covariance = errors_of(plant, twin)
            found[at_ns.index(t_ns)] = [e @ np.linalg.solve(covariance, e), *(e**2 / np.diag(covariance))]

    drive(seed, settings, look)
    return found


def consistency(seeds: int, workers: int, settings: Sequence[str]) -> None:
    """Print NEES and the mean squared normalised error of each quantity over the seeds."""
    jobs = [(seed, (*ALL, *EVEN, *UNTIL, *settings)) for seed in range(1, seeds + 1)]
    found = np.array(list(_spread(_consistency, jobs, workers)))
    count = len(NAMES)
    low, high = (chi2.ppf(share, count * seeds) / seeds for share in (0.025, 0.975))
    print(f"NEES of {count} quantities over {seeds} seeds: 95 % band {low:.2f} to {high:.2f}")
    one = [chi2.ppf(share, seeds) / seeds for share in (0.025, 0.975)]
    print(f"mean squared normalised error of each: 95 % band {one[0]:.2f} to {one[1]:.2f}")
    print("t [s]   NEES   " + " ".join(f"{name:>8}" for name in NAMES))
    for at, values in zip(AT_S, np.nanmean(found, axis=0), strict=True):
        print(f"{at:5.1f} {values[0]:6.2f}   " + " ".join(f"{value:8.2f}" for value in values[1:]))


def _errors(job: tuple[int, Sequence[str]]) -> np.ndarray:
    """Errors of one run: speed, slip, loads (each rms of the run-up), T_c at impact, time to impact; shares of sd."""
    seed, settings = job
    rows: list[list[float]] = []
    kept: list[Any] = []

    def look(t_ns: int, plant: Plant, twin: Any, prediction: Prediction) -> None:
        if t_ns % 50_000_000 == 0 and plant.hit_ns is None and t_ns >= 1_000_000_000:
            true = plant._state
            slip = np.array(prediction.slip) - true.ground.slip
            load = np.array(prediction.normal_force_N) - true.ground.vertical
            rows.append([t_ns * 1e-9, prediction.time_to_impact_s, prediction.speed_mps - true.v[0], *slip, *load])
        if not kept:
            kept.append(twin)

    plant = drive(seed, settings, look)
    made, wheels = np.array(rows), len(plant.rover.wheel_names)
    assert plant.hit_ns is not None
    left = plant.hit_ns * 1e-9 - made[:, 0]
    near = (left < 1.5) & (left > 0.2)
    energy = plant.effective_kinetic_energy_when_hit()

    def rms(values: np.ndarray) -> float:
        return float(np.sqrt(np.mean(values**2)))

    return np.array(
        [
            rms(made[:, 2]), rms(made[:, 3 : 3 + wheels]), rms(made[:, 3 + wheels :]),
            abs(kept[0].energy_at_impact_J - energy) / energy, rms((made[:, 1] - left)[near]),
        ]
    )  # fmt: skip


def errors(seeds: int, workers: int, settings: Sequence[str]) -> None:
    """Print the errors against the truth by set of instruments, the root mean square over the seeds."""
    print("instruments   speed [mm/s]   slip [%]   load [N]   T_c at impact [%]   time to impact [ms]")
    for name, instruments in SETS.items():
        jobs = [(seed, (*instruments, *EVEN, *settings)) for seed in range(1, seeds + 1)]
        found = np.sqrt(np.mean(np.array(list(_spread(_errors, jobs, workers))) ** 2, axis=0))
        speed, slip, load, energy, left = found * (1e3, 1e2, 1.0, 1e2, 1e3)
        print(f"{name:11} {speed:14.3f} {slip:10.3f} {load:10.2f} {energy:19.2f} {left:21.1f}")


def cost() -> None:
    """Print what the observer takes in the ticks of a trial with all instruments, and the reference rows."""
    spent: list[int] = []
    whole: list[int] = []
    config = ["telemetry.endpoint=''", *ALL]
    rig = Rig(load_config("sim_impact", config))
    simulated = build_simulated_rig(rig)
    devices = simulated_rig_io(rig.layout, simulated)
    cycle = build_cycle(rig, devices, MemorySink(rig.layout), None, timed=False)
    twin: Any = cycle.twin
    from hil.estimation.twin import RoverTwin

    inner, outer = RoverTwin.predict, twin.predict
    began = [0]

    def model(self: Any, samples: Any, estimate: Any) -> Prediction:
        prediction = inner(self, samples, estimate)
        began[0] = time.perf_counter_ns()
        return prediction

    def timed(samples: Any, estimate: Any) -> Prediction:
        start = time.perf_counter_ns()
        prediction: Prediction = outer(samples, estimate)
        end = time.perf_counter_ns()
        spent.append(end - began[0])
        whole.append(end - start)
        return prediction

    RoverTwin.predict = model  # type: ignore[method-assign]
    twin.predict = timed
    devices.open()
    Loop(LockstepClock(simulated, rig.rate_hz), cycle).run()
    devices.close()
    RoverTwin.predict = inner  # type: ignore[method-assign]
    for name, times in (("observer", spent), ("twin and observer", whole)):
        p50, p99, p999 = np.quantile(np.array(times[100:]) * 1e-3, (0.5, 0.99, 0.999))
        print(f"{name:18} {len(times)} ticks: p50 {p50:.1f} us, p99 {p99:.1f} us, p99.9 {p999:.1f} us")
    from hil.bench.bench_models import _measured, _rover

    for row in _measured(_rover(), {}, 100):
        print(f"{row['name']:18} p50 {row['p50']:.2f} us, p99 {row['p99']:.2f} us")


def _spread(work: Callable[[Any], np.ndarray], jobs: Sequence[Any], workers: int) -> Iterator[np.ndarray]:
    if workers <= 1:
        yield from map(work, jobs)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(work, jobs)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("consistency", "errors", "cost"))
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE of the config")
    asked = parser.parse_args()
    if asked.what == "cost":
        cost()
    else:
        (consistency if asked.what == "consistency" else errors)(asked.seeds, asked.workers, asked.set)


if __name__ == "__main__":
    main()
