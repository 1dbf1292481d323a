"""Tables and picture of docs/explanation/soil-estimate.md: the soil estimated in a drive, and what max_traction gains.

Run: python docs/figures/soil_estimate.py    (two minutes)

The drives here are of the estimate's own forward model with the errors that it is told of, not of a simulated rig: so
its intervals are checked against what they claim. `--rigs N` also runs N simulated rigs of sim_soil_estimate (minutes).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from outputs import Outputs, parsed, parser_of
from scipy import stats

import hil
from hil.config import load_config
from hil.config.rig import Rig, best_state, steady_drive
from hil.estimation.soil.soil_filter import (
    LOAD_GAIN,
    PULL_GAIN,
    PULL_ZERO,
    SOIL,
    STATES,
    TORQUE_GAIN,
    drive,
    make_filter,
    make_wheels,
    update,
)
from hil.messages.layout import SOIL_PARAMETERS
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.statics import SteadyRover, SteadyState, traction_loss, unevenness
from models.wheel import PRESETS, RigidWheel, Soil

PAGE = "docs/explanation/soil-estimate.md"
RADIUS_M, WIDTH_M, FRICTION = 0.175, 0.15, math.radians(30.0)
SAND = {"friction_angle": FRICTION, "rebound": 0.07, "slip_modulus": 0.185}
SOILS = {
    **{
        f"Juno run {run}": PRESETS[f"juno_run_{run}"].soil(RADIUS_M, WIDTH_M, friction_angle=FRICTION)
        for run in (1, 2, 3)
    },
    "dry sand": PRESETS["dry_sand"].soil(RADIUS_M, WIDTH_M, **SAND),
    "sand under a small wheel": PRESETS["small_wheel_sand"].soil(RADIUS_M, WIDTH_M, **SAND),
}
SPREAD = 0.3  # standard deviation of each log, and how far the soil of the config is off where it is wrong
SLIP_SD, MODEL, CORRELATION_M, MEMORY_M, RATE_HZ, SPEED_MPS = 0.002, 0.01, 0.1, 20.0, 20.0, 0.05
LOADS_N = np.array([120.0, 160.0, 210.0, 150.0, 150.0, 210.0])
TIMES_S = (1.0, 5.0, 15.0, 40.0)
Slips = Callable[[float], float]  # over the share of the drive
DRIVES: dict[str, Slips] = {
    "slip 0.2": lambda _: 0.2,
    "slip 0.1 to 0.6": lambda share: 0.1 + 0.5 * share,
}


class Drive(NamedTuple):
    """One drive.

    Attributes:
        error: (times, parameters) of the logs at `TIMES_S`.
        sd: (times, parameters) that the estimate states.
    """

    error: FloatArray
    sd: FloatArray


def estimated(soil: Soil, off: FloatArray, slips: Slips, random: np.random.Generator) -> Drive:
    """Estimate a soil in a drive.

    Args:
        soil: the true one.
        off: (parameters,) logs of the true over the config's values.
        slips: of the drive.
        random: of all errors.
    """
    true = np.log([getattr(soil, name) for name in SOIL_PARAMETERS])
    spread = np.zeros(STATES)
    spread[:SOIL] = SPREAD
    spread[[TORQUE_GAIN, PULL_GAIN, PULL_ZERO, LOAD_GAIN]] = 0.025, 0.005, 1.0, 0.025
    torque_gain, pull_gain, pull_zero, load_gain = spread[SOIL:] * random.standard_normal(STATES - SOIL)
    packed = np.asarray(RigidWheel(RADIUS_M, WIDTH_M, soil).parameters)
    rover, known = (make_wheels(packed, LOADS_N.size, 0.02) for _ in range(2))
    prior = np.concatenate([true - off, np.zeros(STATES - SOIL)])
    found = make_filter(known, prior, spread, RADIUS_M, MEMORY_M, CORRELATION_M, MODEL)
    bound = BoundArguments(found)
    rover.load[:], known.load[:] = LOADS_N * (1.0 + load_gain), LOADS_N
    left, error, sd = np.zeros(2), [], []
    for step in range(1, round(TIMES_S[-1] * RATE_HZ) + 1):
        slip = slips(step / RATE_HZ / TIMES_S[-1])
        speed = SPEED_MPS * (1.0 - slip)
        way = speed / RATE_HZ
        rover.slip[:], known.slip[:] = slip, slip + SLIP_SD * random.standard_normal()
        drive(rover, speed, 1.0)
        kept = math.exp(-2.0 * way / CORRELATION_M)
        left = kept * left + math.sqrt(1.0 - kept * kept) * MODEL * LOADS_N.sum() * random.standard_normal(2)
        pull, torque = rover.found + left * (1.0, RADIUS_M)
        found.measured[:] = speed, (1.0 + pull_gain) * pull + pull_zero, 0.0, (1.0 + torque_gain) * torque, SLIP_SD
        update(bound, way, way, 1.0)
        if step / RATE_HZ in TIMES_S:
            error.append(found.x[:SOIL] - true)
            sd.append(np.sqrt(np.diag(found.covariance)[:SOIL]))
    return Drive(np.array(error), np.array(sd))


def estimates(out: Outputs, seeds: int) -> None:
    """Coverage of the intervals at the end of drives, errors drawn; and what is left of an error of 30 %."""
    rows = []
    cases = list(itertools.product(SOILS.items(), DRIVES.items()))
    for place, ((name, soil), (about, slips)) in enumerate(out.some(cases, 1)):
        drives = []
        for seed in range(seeds):
            random = np.random.default_rng([seed, place])
            drives.append(estimated(soil, SPREAD * random.standard_normal(SOIL), slips, random))
        error, sd = (np.array([getattr(one, what)[-1] for one in drives]) for what in ("error", "sd"))
        held = (np.abs(error) <= 1.96 * sd).mean(axis=0)
        rms = np.sqrt((error**2).mean(axis=0))
        rows.append([name, about, *(f"{100 * one:.0f} %" for one in held), *(f"{one:.2f}" for one in rms)])
    short = ("stiffness", "rebound", "slip modulus")
    head = ("soil", "drive", *(f"{one}: held" for one in short), *(f"{one}: rms" for one in short))
    out.table(PAGE, "estimates", head, rows)


def over_time(out: Outputs, seeds: int) -> None:
    """What is left of an error of 30 % with each sign, over time: mean size of the error of each log."""
    axes = Figure(figsize=(7.5, 3.2), layout="constrained").subplots(1, 3, sharey=True)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=SOIL)))
    for name, soil in out.some(list(SOILS.items()), 1):
        left = []
        for seed in range(seeds):
            random = np.random.default_rng([seed, 2])
            off = SPREAD * signs[seed % len(signs)]
            left.append(np.abs(estimated(soil, off, DRIVES["slip 0.1 to 0.6"], random).error))
        mean = np.mean(left, axis=0)
        for axis, parameter, values in zip(axes, SOIL_PARAMETERS, mean.T, strict=True):
            axis.plot((0.0, *TIMES_S), (SPREAD, *values), marker="o", ms=3, lw=1, label=name)
            axis.set(title=parameter.replace("_", " "), xlabel="time of the drive [s]", ylim=(0.0, 0.35))
    axes[0].set_ylabel("mean error of the log")
    axes[0].legend(fontsize=7)
    out.picture(axes[0].figure, "soil_estimate.png")


def toward(share: FloatArray) -> Callable[[SteadyState], tuple[float, FloatArray]]:
    """The cost of loads that are not shared so."""

    def cost(state: SteadyState) -> tuple[float, FloatArray]:
        weight = state.load.sum()
        apart = state.load / weight - share
        return float(apart @ apart), 2.0 / weight * (apart - apart @ state.load / weight) @ state.influence

    return cost


def rover_on(rig: Rig, soil: Soil) -> SteadyRover:
    """The rig on another soil, held at its slip."""
    ground = replace(rig.nominal.ground, soil=soil)
    return steady_drive(rig, replace(rig.nominal, ground=ground))


def moved(soil: Soil, logs: FloatArray) -> Soil:
    """A soil whose parameters are changed by logs."""
    values = {name: getattr(soil, name) * math.exp(log) for name, log in zip(SOIL_PARAMETERS, logs, strict=True)}
    return replace(soil, **values)


def gains(out: Outputs) -> None:
    """Drawbar pull at slip 0.3 on a side slope of the true soil, of loads worked out for several soils."""
    rows = []
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=SOIL)))
    for name, soil in out.some(list(SOILS.items()), 1):
        settings = "drawbar.slip=0.3", "drawbar.duty=null", "ground.roll_deg=10", *PAYLOAD
        rig = Rig(load_config("sim_drawbar", settings))
        true = rover_on(rig, soil)
        even, best = best_state(rig, true, unevenness).pull, best_state(rig, true, traction_loss).pull
        wrong, found = list[float](), list[float]()
        for seed, sign in enumerate(signs):
            error = estimated(soil, SPREAD * sign, DRIVES["slip 0.2"], np.random.default_rng([seed, 3])).error[-1]
            for pulls, logs in ((wrong, -SPREAD * sign), (found, error)):
                state = best_state(rig, rover_on(rig, moved(soil, logs)), traction_loss)
                share = state.load / state.load.sum()
                pulls.append(best_state(rig, true, toward(share)).pull)
        gain = np.array(found) - np.array(wrong)
        half = float(stats.t.ppf(0.975, gain.size - 1)) * gain.std(ddof=1) / math.sqrt(gain.size)
        numbers = (even, float(np.mean(wrong)), float(np.mean(found)), best)
        interval = f"{gain.mean() - half:.3f} to {gain.mean() + half:.3f}"
        rows.append([name, *(f"{one:.2f}" for one in numbers), interval])
    head = ("soil", "even loads [N]", "soil 30 % wrong [N]", "estimated [N]", "true soil [N]",
            "estimated over wrong, 95 % [N]")  # fmt: skip
    out.table(PAGE, "gains", head, rows)


PAYLOAD = ("rover.payload.mass_kg=20", "rover.payload.y_m=0.1", "rover.payload.z_m=1.0")


def rigs(out: Outputs, seeds: Sequence[int]) -> None:
    """Simulated rigs whose soil differs from the config's: how far the config and the estimate are off."""
    rows = []
    for seed in seeds:
        summary = hil.run(load_config("sim_soil_estimate", {"telemetry.endpoint": ""}, seed=seed)).summary
        row = [f"{seed}"]
        for name in ("stiffness", "slip_modulus"):
            one = summary["soil_estimate"]["parameters"][name]
            off, left = (math.log(one[key] / one["ground_truth"]) for key in ("config", "value"))
            inside = "yes" if one["low"] <= one["ground_truth"] <= one["high"] else "no"
            row += [f"{off:+.2f}", f"{left:+.2f}", inside]
        rows.append(row)
    columns = ("config", "estimate", "held")
    head = ("seed", *(f"{what}: {one}" for what in ("stiffness", "slip modulus") for one in columns))
    out.table(PAGE, "rigs", head, rows)


def main() -> None:
    """Make all of them."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rigs", type=int, default=0)
    given, out = parsed(parser)
    seeds = 2 if out.quick else given.seeds
    estimates(out, seeds)
    over_time(out, seeds)
    gains(out)
    if given.rigs and not out.quick:
        rigs(out, range(1, given.rigs + 1))


if __name__ == "__main__":
    main()
