"""Configs with keys drawn at and between their bounds: each is refused, not accepted, or right.

python tests/soak/random_configs.py --configs 2000 --seed 1 --all

Keys and bounds come from the schema, so a new key is drawn too, with a base whose experiment and rover read it. The
bases are short runs of sim_impact, sim_juno, sim_normal_force, sim_slope and sim_drawbar; with --all of every shipped
config, so every experiment, and those of a real rig on simulated devices. All run in virtual time.

An accepted run is wrong if its speed, loads, or what its summary has beside the truth differ from the truth by more
than decision 111 allows. Loads and sinkages of the five bases at rest are compared with an equilibrium of their own
(tests/soak/static_equilibrium.py) too, in motion their sum with the weight, both within 1 %. Wrong are as well an error
that is none of config, arming or device, an exception in a tick, and a run that does not end in SECONDS.
The same seed draws the same configs.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from static_equilibrium import at_rest, weight_N

from drivers.interfaces import DeviceError
from hil.app.run import run, run_experiment
from hil.config import Config, ConfigError, load_config
from hil.config.error_messages import resolved, whole_schema
from hil.config.schema.experiments import unused_sections
from hil.experiments.base import ARMED
from hil.experiments.summary import window_mean
from hil.experiments.summary_table import TRUTH_CHECK
from hil.messages.fault import Fault
from hil.recording import read_trial
from hil.simulator.ground_truth import GroundTruth
from models.plant.motion_history import EVERY_NS, SPEED, TIME

_STEPS = "drive.steps=[{for_s: 0.8, speed_mps: 0.05}]"
_IMPACT = (
    "trial.start_distance_m=0.02",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.5",
    "record.after_s=0.5",
    "trial.timeout_s=3",
)
_MODES = "normal_force.steps=[{for_s: 0.8, mode: passive}, {for_s: 0.8, mode: uniform}]"
_CROSSING = (
    "ground.profile.start_m=0.02",
    "ground.profile.height_m=0.02",
    "crossing.past_m=0.01",
    "crossing.timeout_s=18",
    "crossing.speed_mps=0.12",
    "crossing.settle_s=0.1",
)
_FOLLOW = ("follow.profile=[[0, 0], [0.5, 0.08], [3, 0.08]]", "follow.window_from_s=1.5", "follow.window_s=1")
_TABLE = 'stimulus.table="time_s,speed_mps\\n0,0\\n0.3,0.05\\n1,0.05\\n1.2,0\\n"'
_GAIT = (
    'walk.gait="duration_s,front_walking_deg,middle_walking_deg,rear_walking_deg,front_wheels,middle_wheels,rear_wheels'
    '\\n2,-4,0,4,roll,roll,hold\\n2,4,0,-4,hold,roll,roll\\n"'
)
_REHEARSED = ("rig=simulated_wire",)
# Short runs of each experiment in virtual time, from the start to the end.
BASES: Mapping[str, tuple[str, ...]] = {
    "sim_juno": (_STEPS,),
    "sim_impact": _IMPACT,
    "sim_normal_force": (_MODES,),
    "sim_slope": ("slope.ramp_s=0.2", "slope.settle_s=0.4", "slope.measure_s=0.4"),
    "sim_drawbar": ("drawbar.ramp_s=0.2", "drawbar.settle_s=2", "drawbar.measure_s=0.4"),
}  # fmt: skip
# Likewise of the other shipped configs; an experiment that none of them has follows its config's name.
OTHERS: Mapping[str, tuple[str, ...]] = {
    "bumper": (*_REHEARSED, *_IMPACT),
    "mars_dome": (*_REHEARSED, *_IMPACT),
    "sim_capture": ("capture.gap_m=0.05", "capture.latch_s=1", "capture.hold_s=0.2", "capture.timeout_s=3",
                    "capture.control_s=10", "capture.settle_s=0.1"),
    "sim_cia402_wire": _IMPACT,
    "sim_drop": _CROSSING,
    "sim_flexible_wheel": (_STEPS,),
    "sim_follow": _FOLLOW,
    "sim_impact jog": ("experiment=jog", "jog.seconds=0.5"),
    "sim_imported": (*_IMPACT, "trial.ramp_s=0.2"),
    "sim_juno_exact": (_STEPS,),
    "sim_juno_wire": (_STEPS,),
    "sim_lift": ('stimulus.table="time_s,speed_mps,deck_lift_mm\\n0,0,0\\n1,0.05,30\\n1.5,0,30\\n"',),
    "sim_mixed_wheels": (_STEPS,),
    "sim_motion": _IMPACT,
    "sim_motion_wire": _IMPACT,
    "sim_normal_force_wire": (_MODES,),
    "sim_scan": (_STEPS,),
    "sim_scan_torque": ("follow.profile=[[0, 0], [0.5, 0.2], [3, 0.2]]", *_FOLLOW[1:]),
    "sim_sinkage": ("sinkage.settle_s=0.5", "sinkage.measure_s=0.5"),
    "sim_soil_estimate": (_MODES.replace("uniform", "max_traction"),),
    "sim_step": _CROSSING,
    "sim_step_nonsmooth": _CROSSING,
    "sim_step_plate": _CROSSING,
    "sim_stimulus": (_TABLE,),
    "sim_walk": (_GAIT, "walk.steps=[{motion: straight, duration_s: 1}, {motion: gait, cycles: 1}]"),
    "sim_walk_wire": (),
    "sim_wheel_bed": ("drawbar.ramp_s=0.2", "drawbar.settle_s=1.2", "drawbar.measure_s=0.4"),
    "sim_wire": _IMPACT,
    "sim_xu": (_TABLE,),
}  # fmt: skip
# Simulated devices take several times as long, and read the same keys: the others are drawn so many times as often.
ON_DEVICES = tuple(one for one in OTHERS if one.endswith("_wire") or _REHEARSED[0] in OTHERS[one])
OFTEN = 3
# Longest processor time of a run, its kernels being compiled [s]; the longest of 1,200 took half of it.
SECONDS = 60.0
ALWAYS = ("clock=lockstep", "telemetry.endpoint=''")
# Not drawn: what decides where a run goes and how long it is, and what needs files, devices or other computers.
LEFT_OUT = (
    "name", "rig", "clock", "experiment", "loop.rate_hz", "realtime", "trial.timeout_s", "trial.settle_s",
    "trial.ramp_s", "trial.start_distance_m", "trial.drive_time_s", "trial.destress_m", "jog.seconds", "drive",
    "normal_force.steps", "drawbar.ramp_s", "drawbar.settle_s", "drawbar.measure_s", "slope.ramp_s", "slope.settle_s",
    "slope.measure_s", "crossing.timeout_s", "crossing.settle_s", "capture.timeout_s", "capture.latch_s",
    "capture.hold_s", "capture.control_s", "capture.settle_s", "follow.window_from_s", "follow.window_s",
    "sinkage.settle_s", "sinkage.measure_s", "record", "telemetry", "operator",
    "devices", "quality", "seed", "daq.rate_hz",
)  # fmt: skip
MOST_KEYS = 5
PART = 0.01
OUTCOMES = ("refused", "not armed", "not accepted", "accepted", "error")


@dataclass(frozen=True)
class Key:
    """A key of the schema: its path, and the values at its bounds, or all it can be."""

    path: str
    low: float | None
    high: float | None
    whole: bool
    choices: tuple[Any, ...]

    def drawn(self, chance: np.random.Generator) -> str:
        """A value in YAML: at a bound, between them in proportion, or between them by orders of magnitude."""
        if self.choices:
            return json.dumps(self.choices[int(chance.integers(len(self.choices)))])
        assert self.low is not None
        assert self.high is not None
        where = chance.random()
        if where < 0.4:
            value = self.low if where < 0.2 else self.high
        elif where < 0.7 or self.low < 0.0 or self.high <= 0.0:
            value = chance.uniform(self.low, self.high)
        else:
            value = float(np.exp(chance.uniform(np.log(max(self.low, 1e-4 * self.high)), np.log(self.high))))
        return str(round(value)) if self.whole else repr(float(value))


@cache
def keys() -> tuple[Key, ...]:
    """Every key with bounds or choices."""
    return tuple(_keys("", whole_schema()))


def _keys(path: str, schema: Mapping[str, Any]) -> Iterator[Key]:
    for name, raw in schema.get("properties", {}).items():
        place = f"{path}.{name}".lstrip(".")
        if place in LEFT_OUT:
            continue
        value = resolved(raw)
        if "properties" in value:
            yield from _keys(place, value)
        elif "enum" in value:
            yield Key(place, None, None, False, tuple(value["enum"]))
        elif value.get("type") == "boolean":
            yield Key(place, None, None, False, (False, True))
        elif value.get("type") in ("number", "integer"):
            low, high = (value.get(one, value.get(f"exclusive{one.title()}")) for one in ("minimum", "maximum"))
            if low is not None and high is not None:
                low = max(low, 1e-6 * high) if "exclusiveMinimum" in value else low
                yield Key(place, low, high, value["type"] == "integer", ())


@dataclass(frozen=True)
class Result:
    """What came of a config; `wrong` is empty if that is as it must be."""

    number: int
    base: str
    experiment: str
    drawn: tuple[str, ...]
    outcome: str
    wrong: str = ""
    why: str = ""
    seconds: float = 0.0


class Made(NamedTuple):
    """A run that ended: as `hil.app.run.RunResult`."""

    exit_code: int
    summary: dict[str, Any]
    ticks: np.ndarray
    events: np.ndarray


def given_of(base: str) -> tuple[str, ...]:
    """Overrides of a base, which make its run short and in virtual time."""
    return (*{**BASES, **OTHERS}[base], *ALWAYS)


def name_of(base: str) -> str:
    """Of the shipped config of a base."""
    return base.partition(" ")[0]


@cache
def _reads(base: str) -> tuple[str, str]:
    """Experiment and rover of a base."""
    config = load_config(name_of(base), given_of(base))
    return config.experiment, config.rover.type


def _of_rover(key: Key) -> str:
    """The rover that reads a key; "": any."""
    parts = key.path.split(".")
    return parts[1] if parts[0] == "rover" and parts[1] in _rovers() else ""


@cache
def _rovers() -> tuple[str, ...]:
    """Every `rover.type`."""
    return next(one for one in keys() if one.path == "rover.type").choices


def suits(key: Key, base: str) -> bool:
    """Whether a run of the base reads a key, as far as experiment and rover tell."""
    experiment, rover = _reads(base)
    section = key.path.partition(".")[0]
    return _of_rover(key) in ("", rover) and section not in unused_sections(experiment)


def drawn_config(number: int, seed: int, *, everything: bool = False) -> tuple[str, tuple[str, ...]]:
    """Base and overrides of one config; the first key goes round, so that every key is drawn."""
    chance = np.random.default_rng((seed, number))
    every = keys()
    first = every[number % len(every)]
    bases = (*BASES, *OTHERS) if everything else tuple(BASES)
    bases = tuple(base for base in bases if suits(first, base)) or bases
    bases = tuple(base for base in bases for _ in range(1 if base in ON_DEVICES else OFTEN))
    base = bases[int(chance.integers(len(bases)))]
    if _of_rover(first) not in ("", _reads(base)[1]):  # of a rover that none of them has
        return base, (f"rover.type={_of_rover(first)}", f"{first.path}={first.drawn(chance)}")
    suitable = [key for key in every if suits(key, base)]
    count = int(chance.integers(0, MOST_KEYS))
    others = [suitable[int(i)] for i in chance.choice(len(suitable), count, replace=False)]
    chosen = dict.fromkeys([first, *others])
    return base, tuple(f"{key.path}={key.drawn(chance)}" for key in chosen)


class TooLongError(BaseException):
    """A run takes more processor time than SECONDS."""


@contextmanager
def _bounded() -> Iterator[list[bool]]:
    """Ends what takes longer; what it yields then holds an entry, whoever has caught the error."""
    over: list[bool] = []

    def end(*_: object) -> None:
        over.append(True)
        raise TooLongError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)
    try:
        yield over
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _made(config: Config) -> Made:
    """In memory where that is possible: it takes less time."""
    if config.rig == "simulated":
        done = run(config, timed=False)
        return Made(done.exit_code, dict(done.summary), done.ticks, done.events)
    with tempfile.TemporaryDirectory(prefix="random-configs-") as place:
        outcome = run_experiment(config, Path(place), progress=lambda _: None, figure=False)
        record = read_trial(Path(place), trusted=True)
        return Made(outcome.exit_code, dict(outcome.summary), record.tick, record.events)


def make(number: int, seed: int, everything: bool = False) -> Result:
    """Draw a config, run it, and judge what came of it."""
    base, drawn = drawn_config(number, seed, everything=everything)
    experiment, began = _reads(base)[0], time.process_time()

    def result(outcome: str, wrong: str = "", why: str = "") -> Result:
        return Result(number, base, experiment, drawn, outcome, wrong, why, round(time.process_time() - began, 2))

    for last in (False, True):
        try:
            with _bounded() as over:
                config = load_config(name_of(base), [*given_of(base), *drawn])
                done = _made(config)
                wrong = "; ".join(_wrong_of(config, done)) if done.summary["accepted"] else ""
        except ConfigError as error:
            return result("refused", why=str(error.problems[0]))
        except DeviceError as error:
            return result("refused", why=str(error))
        except TooLongError:
            over = [True]
        except Exception:
            return result("error", traceback.format_exc(limit=-4))
        if not over:
            break
        if last:  # its kernels were compiled by the first one
            return result("error", f"not ended after {SECONDS:g} s of processor time")
    reasons = "; ".join(done.summary["reasons"])
    if f"fault {Fault.EXCEPTION.value}:" in reasons:
        return result("error", reasons)
    if done.exit_code == 3 and "not armed" in reasons:
        return result("not armed", why=reasons)
    if not done.summary["accepted"]:
        return result("not accepted", why=reasons)
    return result("accepted", wrong, str((done.summary.get(TRUTH_CHECK) or {}).get("by")))


def _wrong_of(config: Config, done: Made) -> Iterator[str]:
    """What an accepted run says that is not so."""
    for key, known in done.summary.items():
        if "_true" in key:
            yield from _not_as_true(config, done.summary, key, known)
    yield from _off_the_truth(config, done)
    yield from _off_the_pull(config, done)
    if config.name in BASES and config.experiment == _reads(config.name)[0]:
        yield from _wrong(config, done.ticks)


def _allowed(config: Config, summary: Mapping[str, Any]) -> tuple[float, float]:
    """What decision 111 allows: of the way [m], as the summary has it, and of what follows from masses, relative."""
    values = (summary.get(TRUTH_CHECK) or {}).get("values", ())
    way = next((one["allowed"] for one in values if one["name"] == "distance"), None)
    return math.nan if way is None else way, 3.0 * config.plant.spread.mass + PART


def _not_as_true(config: Config, summary: Mapping[str, Any], key: str, known: Any) -> Iterator[str]:
    """A value of the summary beside that of the simulated rig of the same name, where decision 111 has a bound."""
    found = summary.get(key.replace("_true", ""))
    if found is None or known is None or isinstance(known, (list, dict)):
        return
    if isinstance(known, (str, bool)):
        if found != known:
            yield f"{key} {known}, said is {found}"
        return
    way_m, share = _allowed(config, summary)
    allowed = way_m + share * abs(known)  # a rover's lengths only; NaN where nothing says how far it moved
    if key.endswith("_m") and abs(found - known) > allowed:
        yield f"{key} {known:.4g}, said is {found:.4g}; allowed {allowed:.2g} apart"


def _off_the_truth(config: Config, done: Made) -> Iterator[str]:
    """Speed while the drives are powered, and loads at rest and then, until something is hit."""
    ground_truth, ticks = GroundTruth.recorded(done.events), done.ticks
    true = ground_truth.motion
    if true is None or not {"pose", "normal_force_N"} <= set(ticks.dtype.names or ()):
        return
    if config.section.winch is not None:  # it pulls the rig; its twin is told no more than its force
        return
    t_ns = np.rint(true[:, TIME] * 1e9).astype(np.int64)
    at = np.searchsorted(ticks["t_ns"], t_ns - EVERY_NS // 200)
    true, t_ns, at = true[at < len(ticks)], t_ns[at < len(ticks)], at[at < len(ticks)]
    rows = ticks[at]
    before = t_ns < (np.iinfo(np.int64).max if ground_truth.hit_ns is None else ground_truth.hit_ns)
    powered = before & (rows["cut"] == 0) & np.isfinite(rows["pose"]).all(axis=1)
    way_m, share = _allowed(config, done.summary)
    if powered.sum() >= 2 and math.isfinite(way_m):
        came, known = (
            float(np.sum(one) * 1e-9 * EVERY_NS) for one in (rows["speed_mps"][powered], true[powered, SPEED])
        )
        if abs(came - known) > way_m:
            yield f"by its speed it came {came:.4f} m, {known:.4f} m by the truth, {way_m:.2g} m allowed"
    if config.experiment == "crossing":  # hits last less than is between two rows
        return
    for name, which in (("at rest", before & (rows["state"] == ARMED)), ("in motion", powered)):
        claimed, known_N = rows["normal_force_N"][which].astype(float), true[which, -rows["normal_force_N"].shape[1] :]
        if len(claimed) < 4 or not np.isfinite(claimed).all():
            continue
        deviation = np.max(_deviation(rows[which], "normal_force_sd_N"))
        scatter = max(window_mean(one).u95 for one in (claimed - known_N).T)
        off = float(np.abs((claimed - known_N).mean(axis=0)).max())
        if off > share * known_N.mean() + scatter + 3.0 * deviation:
            yield f"loads {name} {np.round(claimed.mean(axis=0), 1)}, {np.round(known_N.mean(axis=0), 1)} by the truth"


def _off_the_pull(config: Config, done: Made) -> Iterator[str]:
    """Pull of the load cell of a traction, with what decision 111 allows; 0 where the run has not compared it."""
    known = GroundTruth.recorded(done.events).traction
    if known is None or not config.layout.load_cell or config.experiment not in ("drawbar", "slope"):
        return
    values = (done.summary.get(TRUTH_CHECK) or {}).get("values", ())
    allowed = next((one["allowed"] for one in values if one["name"] == "drawbar pull"), 0.0)
    if abs(done.summary["pull_N"] - known.pull) > allowed:
        yield f"pull {done.summary['pull_N']:.4g} N, {known.pull:.4g} N by the truth, {allowed:.2g} N allowed"


def _deviation(still: np.ndarray, field: str) -> np.ndarray | float:
    """Standard deviations that the observer states, whose instruments have offsets and noise; 0: there is none."""
    known: np.ndarray | float = still[field].mean(axis=0) if field in (still.dtype.names or ()) else 0.0
    return known


def _wrong(config: Config, ticks: np.ndarray) -> Iterator[str]:
    """What an accepted run has beyond 1 % of statics."""
    if config.ground.kind == "none":
        return
    still = ticks[ticks["state"] == ARMED]
    still = still[3 * len(still) // 4 :]  # in a soil that shears far it slides until the shear bears it
    loads, sinkage = still["normal_force_N"].mean(axis=0), still["sinkage_m"].mean(axis=0)
    weight = weight_N(config)
    if abs(loads.sum() - weight) > PART * weight:
        yield f"loads at rest sum to {loads.sum():.1f} N, weight {weight:.1f} N"
    found = at_rest(config)
    if found is not None:
        of_observer = 3.0 * _deviation(still, "normal_force_sd_N")
        off = (np.abs(loads - found.load_N) - of_observer).max() / found.load_N.mean()
        if off > PART:
            yield f"loads at rest {np.round(loads, 1)}, statics {np.round(found.load_N, 1)}"
        of_observer = 3.0 * _deviation(still, "sinkage_sd_m")
        deep = (np.abs(sinkage - found.sinkage_m) - of_observer).max() / max(found.sinkage_m.max(), 1e-12)
        if found.sinkage_m.max() > 0.0 and deep > PART:
            yield f"sinkage at rest {sinkage}, statics {found.sinkage_m}"
    if config.experiment in ("drive", "slope", "normal_force"):
        moving = ticks[(ticks["cut"] == 0)]
        mean = float(moving["normal_force_N"][len(moving) // 2 :].sum(axis=1).mean())
        if abs(mean - weight) > PART * weight:
            yield f"loads in motion sum to {mean:.1f} N, weight {weight:.1f} N"


def _made_by(workers: int, numbers: range, seed: int, everything: bool) -> Iterator[Result]:
    """Results as they come; a process that a config ends is a result, too, and the next one goes on."""
    left = iter(numbers)
    while True:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            under_way = {pool.submit(make, one, seed, everything): one for one in islice(left, workers)}
            if not under_way:
                return
            try:
                while under_way:
                    ended = next(iter(wait(under_way, return_when=FIRST_COMPLETED).done))
                    yield ended.result()
                    del under_way[ended]
                    under_way |= {pool.submit(make, one, seed, everything): one for one in islice(left, 1)}
            except BrokenProcessPool:
                for number in under_way.values():
                    base, drawn = drawn_config(number, seed, everything=everything)
                    words = "it, or one beside it, ended the process"
                    yield Result(number, base, _reads(base)[0], drawn, "error", words)


def table(results: Sequence[Result]) -> str:
    """Counts by base: drawn, each outcome, wrong, and seconds of processor time."""
    lines = [f"{'base':24s}{'experiment':14s}" + "".join(f"{one:>14s}" for one in (*OUTCOMES, "wrong", "drawn", "s"))]
    for base in dict.fromkeys(one.base for one in sorted(results, key=lambda one: (one.experiment, one.base))):
        of_base = [one for one in results if one.base == base]
        counts = Counter(one.outcome for one in of_base)
        numbers = [*(counts[one] for one in OUTCOMES), sum(bool(one.wrong) for one in of_base), len(of_base)]
        seconds = f"{sum(one.seconds for one in of_base):14.0f}"
        lines.append(f"{base:24s}{of_base[0].experiment:14s}" + "".join(f"{one:14d}" for one in numbers) + seconds)
    return "\n".join(lines)


def main() -> int:
    """Make them all; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first one, to repeat one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all", action="store_true", help="all shipped configs, not only the quick ones")
    parser.add_argument("--json", type=Path, help="add every result to this file, a line each")
    given = parser.parse_args()
    results: list[Result] = []
    for result in _made_by(given.workers, range(given.first, given.first + given.configs), given.seed, given.all):
        results.append(result)
        if result.wrong:
            drawn = " ".join(result.drawn)
            print(f"{result.number} {result.base} {drawn}: {result.outcome}: {result.wrong}", flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(vars(result)) + "\n")
    print(table(results))
    outcomes = Counter(result.outcome for result in results)
    wrong = sum(bool(result.wrong) for result in results)
    print(f"{len(results)} configs, {len(keys())} keys: {dict(outcomes)}, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
