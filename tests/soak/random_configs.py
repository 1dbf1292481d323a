"""Configs with keys drawn at and between their bounds: each is refused, not accepted, or right within 1 %.

python tests/soak/random_configs.py --configs 2000 --seed 1 --all

Keys and bounds come from the schema, so a new key is drawn too. At rest, wheel loads and sinkages of an accepted run
are compared with an equilibrium of their own (tests/soak/static_equilibrium.py), in motion the sum with the weight.
With --all every shipped config that can run in virtual time is a base, so every experiment; of those that are not in
BASES only the way is compared, that of the record with the true one.
An error that is none of a config's or of arming is a finding as well. The same seed draws the same configs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from static_equilibrium import at_rest, weight_N

from hil.app.run import run_experiment
from hil.config import Config, ConfigError, load_config, shipped_configs
from hil.config.error_messages import resolved, whole_schema
from hil.experiments.base import ARMED
from hil.experiments.truth_events import RecordedTruth
from hil.recording import read_trial
from models.plant.motion_history import TIME, X, Z

# Short runs of each experiment in virtual time, from the start to the end.
BASES: Mapping[str, tuple[str, ...]] = {
    "sim_juno": ("drive.steps=[{for_s: 0.8, speed_mps: 0.05}]",),
    "sim_impact": ("trial.start_distance_m=0.02", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
                   "trial.timeout_s=3"),
    "sim_normal_force": ("normal_force.steps=[{for_s: 0.8, mode: passive}, {for_s: 0.8, mode: uniform}]",),
    "sim_slope": ("slope.ramp_s=0.2", "slope.settle_s=0.4", "slope.measure_s=0.4"),
    "sim_drawbar": ("drawbar.ramp_s=0.2", "drawbar.settle_s=0.4", "drawbar.measure_s=0.4"),
}  # fmt: skip
# Of the others the whole run is made; those of a real rig have no virtual time.
OTHERS = tuple(name for name in shipped_configs() if name not in BASES and load_config(name).rig != "real")
# The way of an accepted run may be off by this part of the true one, and by so much [m]: a quarter of all is slip.
WAY_PART, WAY_M = 0.25, 0.02
ALWAYS = ("clock=lockstep", "telemetry.endpoint=''")
# Not drawn: what decides where a run goes and how long it is, and what needs files, devices or other computers.
LEFT_OUT = (
    "name", "rig", "clock", "experiment", "loop.rate_hz", "realtime", "trial.timeout_s", "trial.settle_s",
    "trial.ramp_s", "trial.start_distance_m", "trial.drive_time_s", "trial.destress_m", "jog", "drive",
    "normal_force.steps", "drawbar", "slope", "record", "telemetry", "operator",
    "extensions", "devices", "quality", "seed", "daq.rate_hz",
)  # fmt: skip
MOST_KEYS = 5
PART = 0.01


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
    drawn: tuple[str, ...]
    outcome: str
    wrong: str = ""
    why: str = ""


def drawn_config(number: int, seed: int, *, everything: bool = False) -> tuple[str, tuple[str, ...]]:
    """Base and overrides of one config; the first key goes round, so that every key is drawn."""
    chance = np.random.default_rng((seed, number))
    bases = (*BASES, *OTHERS) if everything else tuple(BASES)
    base = bases[int(chance.integers(len(bases)))]
    every = keys()
    first = every[number % len(every)]
    count = int(chance.integers(0, MOST_KEYS))
    others = [every[int(i)] for i in chance.choice(len(every), count, replace=False)]
    chosen = dict.fromkeys([first, *others])
    return base, tuple(f"{key.path}={key.drawn(chance)}" for key in chosen)


def make(number: int, seed: int, everything: bool = False) -> Result:
    """Draw a config, run it, and judge what came of it."""
    base, drawn = drawn_config(number, seed, everything=everything)
    try:
        config = load_config(base, [*BASES.get(base, ()), *ALWAYS, *drawn])
    except ConfigError as error:
        return Result(number, base, drawn, "refused", why=str(error.problems[0]))
    with tempfile.TemporaryDirectory(prefix="random-configs-") as place:
        try:
            folder = Path(place)
            done = run_experiment(config, folder, progress=lambda _: None, figure=False)
            reasons = "; ".join(done.summary["reasons"])
            if done.exit_code == 3 and "not armed" in reasons:
                return Result(number, base, drawn, "not armed", why=reasons)
            if not done.summary["accepted"]:
                return Result(number, base, drawn, "not accepted", why=reasons)
            wrong = [*_false_way(folder), *(_wrong(config, folder) if base in BASES else ())]
            return Result(number, base, drawn, "accepted", "; ".join(wrong))
        except ConfigError as error:
            return Result(number, base, drawn, "refused", why=str(error.problems[0]))
        except Exception:
            return Result(number, base, drawn, "error", traceback.format_exc(limit=-3))


def _false_way(folder: Path) -> Iterator[str]:
    """How far the rover came by the record and by the truth, while its drives were powered and before a hit."""
    trial = read_trial(folder, trusted=True)
    ground_truth, ticks = RecordedTruth(trial.events), trial.tick
    if ground_truth.motion is None or "pose" not in (ticks.dtype.names or ()):
        return
    powered = ticks[(ticks["cut"] == 0) & (ticks["t_ns"] < (ground_truth.hit_ns or np.iinfo(np.int64).max))]
    inside = ground_truth.motion[np.isin(np.rint(ground_truth.motion[:, TIME] * 1e9).astype(np.int64), powered["t_ns"])]
    if len(inside) < 2 or not np.isfinite(powered["normal_force_N"]).any():  # nothing says what pulls it
        return
    at = np.searchsorted(powered["t_ns"], np.rint(inside[[0, -1], TIME] * 1e9).astype(np.int64))
    found = float(np.linalg.norm(np.diff(powered["pose"][at, :3].astype(float), axis=0)))
    known = float(np.linalg.norm(np.diff(inside[[0, -1], X : Z + 1], axis=0)))
    if abs(found - known) > WAY_PART * known + WAY_M:
        yield f"came {found:.3f} m by the record, {known:.3f} m by the truth"


def _deviation(still: np.ndarray, field: str) -> np.ndarray | float:
    """Standard deviations that the observer states, whose instruments have offsets and noise; 0: there is none."""
    known: np.ndarray | float = still[field].mean(axis=0) if field in (still.dtype.names or ()) else 0.0
    return known


def _wrong(config: Config, folder: Path) -> Iterator[str]:
    """What an accepted run has beyond 1 % of statics."""
    if config.ground.kind == "none":
        return
    ticks = read_trial(folder, trusted=True).tick
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


def main() -> int:
    """Make them all; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first one, to repeat one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all", action="store_true", help="all shipped configs, not only the quick ones")
    parser.add_argument("--json", type=Path, help="write every result")
    given = parser.parse_args()
    results, last = [], given.first + given.configs
    with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for result in pool.map(
            make, range(given.first, last), *([one] * given.configs for one in (given.seed, given.all))
        ):
            results.append(result)
            if result.wrong:
                print(
                    f"{result.number} {result.base} {' '.join(result.drawn)}: {result.outcome}: {result.wrong}",
                    flush=True,
                )
            if given.json:
                given.json.write_text(json.dumps([vars(one) for one in results], indent=1))
    outcomes = Counter(result.outcome for result in results)
    wrong = sum(bool(result.wrong) for result in results)
    print(f"{len(results)} configs, {len(keys())} keys: {dict(outcomes)}, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
