"""MacMahon 2016, 2.1, 4.1 and 4.2: walking against driving, T_c over the walking angle, and what a posture buys.

Writes the tables of docs/reproduce/walking.md, and its picture.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq
from scipy.stats import t as student

from hil.app.run import run_experiment
from hil.config import Config, load_config
from hil.config.rig import Rig
from hil.config.schema.walk import shipped_gaits
from hil.control.motions.timeline import STEP_S
from hil.experiments.walk.programme import walk_timeline
from models.gravity import GRAVITY_MPS2
from models.impact import effective_kinetic_energy
from models.plant import Plant
from models.plant.motion_history import turns
from models.rover import ParametricParameters, Rover
from models.wheel import RigidWheel

sys.path.append(str(Path(__file__).resolve().parents[1] / "figures"))
from outputs import Outputs, outputs

PAGE = "docs/reproduce/walking.md"
# Petersen 2012, Table 3.1, and Table 6.3: the softest of his soils.
_SOFT = {"soil.stiffness": 1.47e5, "soil.exponent": 0.533, "soil.rebound": 0.0834, "soil.slip_modulus": 0.794}
# Over sinkage: the softest soil with its stiffness times these.
_STIFFER = (16.0, 4.0, 2.0, 0.5, 0.25)
SOILS: dict[str, dict[str, float]] = {"dry sand": {}, "soft soil": _SOFT} | {
    f"soft soil, {times:g} times as stiff": {**_SOFT, "soil.stiffness": times * _SOFT["soil.stiffness"]}
    for times in _STIFFER
}
# Soil and its shear displacement at the limit: the rig's 1 mm.
CASES = (("dry sand", 0.001), ("soft soil", 0.001))
SLOPES_DEG = (0, 5, 10, 15, 20, 25)
# Slopes, and the shear displacement at the limit, of the table over sinkage.
SINKAGE_SLOPES_DEG, SINKAGE_SHEAR_M = (0, 10), 0.01
# Of the trials in two postures.
SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
# T_c by walking angle [rad] of the parametric rover.
QUOTED_J = {0.0: 0.172, 0.2: 0.195, 0.4: 0.206}
INCH, AXLES = shipped_gaits()["inch_worm"], shipped_gaits()["axle_by_axle"]
WAYS = {
    "driving": None,
    "inch-worm, holding": INCH,
    "inch-worm, locked": INCH.replace("hold", "lock"),
    "axle by axle": AXLES,
}


class Held(NamedTuple):
    """One phase of a gait. Two wheels an axle, numbered from the front.

    Attributes:
        wheels: that hold.
        rolling: speed of the others over the ground, as the phase wants it, over that of its step.
        step: way by which the body falls behind if everything slides back at the step's speed, over a cycle's advance.
    """

    wheels: tuple[int, ...]
    rolling: dict[int, float]
    step: float


_FRONT, _MIDDLE, _REAR = (0, 1), (2, 3), (4, 5)
PHASES = {
    "inch-worm, holding": (
        Held(_REAR, {0: 2.0, 1: 2.0, 2: 1.0, 3: 1.0}, 0.5),
        Held(_FRONT, {2: 1.0, 3: 1.0, 4: 2.0, 5: 2.0}, 0.5),
    ),
    "axle by axle": (
        Held((*_MIDDLE, *_REAR), {0: 1.0, 1: 1.0}, 1.0),
        Held((*_FRONT, *_REAR), {2: 1.0, 3: 1.0}, 1.0),
        Held((*_FRONT, *_MIDDLE), {4: 1.0, 5: 1.0}, 1.0),
        Held((*_FRONT, *_MIDDLE, *_REAR), {}, 0.0),
    ),
}
# A wheel in the air counts as one that bears this.
LEAST_N = 0.5
# Such a share of a shear limit is that of wheels in the air.
WHOLLY = 50.0
# The rover tips over where it pitches this much from the slope.
TIPS_RAD = math.radians(15.0)
# Where the rover of Table 4-1 tips over: its body's centre of mass lower down.
LOW_M, LOW_DEG = 0.5, (25,)
DRIVE_S, DRIVE_MPS, RAMP_S = 6.0, 0.05, 2.0
# A servo's motor with twice its torque limit at rest and twice its rate without load.
SERVO_STALL, SERVO_FREE = 2.0, 2.0


class Gone(NamedTuple):
    """One run.

    Attributes:
        way_m: advance along the slope; of a gait that of one cycle.
        wanted_m: that follows from the motion.
        mechanical_J: work of drives and servos, each where it is positive: nothing is fed back.
        electrical_J: the same with the motors' losses by their resistance.
        sinkage_m: mean over wheels and time.
        tips: it tipped over; then nothing else counts.
    """

    way_m: float
    wanted_m: float
    mechanical_J: float
    electrical_J: float
    sinkage_m: float
    tips: bool = False

    @property
    def part(self) -> float:
        """Advance over what follows from the motion."""
        return self.way_m / self.wanted_m

    @property
    def climbs(self) -> bool:
        """It goes forward at all."""
        return not self.tips and self.part > 0.02


def config_of(way: str, soil: str, slope_deg: float, shear_m: float, *, low: bool = False) -> Config:
    """One cycle of a gait, or a drive."""
    gait = WAYS[way]
    changes: dict[str, object] = {"ground.pitch_deg": slope_deg, "soil.shear_displacement_m": shear_m}
    changes |= SOILS[soil]
    if low:
        changes["rover.body_com_height_m"] = LOW_M
    if gait is None:
        changes["walk.steps"] = [{"motion": "straight", "speed_mps": DRIVE_MPS, "duration_s": DRIVE_S}]
    else:
        changes |= {"walk.gait": gait, "walk.steps": [{"motion": "gait", "cycles": 1}]}
    return load_config("sim_walk", changes)


def go(way: str, soil: str, slope_deg: float, shear_m: float, *, low: bool = False) -> Gone:
    """Run the simulated rig, without noise and spread, on the set-points as they are."""
    config = config_of(way, soil, slope_deg, shear_m, low=low)
    line = walk_timeline(Rig(config), config.walk)
    plant = Plant(Rig(config).nominal, np.random.default_rng(0))
    state = plant.scene.value.state
    motor, servos = config.drives.motor, config.driven_joints
    spin = 5 + plant.rover.chain.wheel_body
    turn = np.array([6 + plant.rover.tree_joint_names.index(one.name) for one in servos])
    of_servos = [SERVO_FREE * one.rate_radps / (SERVO_STALL * one.torque_limit_Nm) for one in servos]
    losses = np.array([motor.no_load_radps / motor.stall_torque_Nm] * len(spin) + of_servos)
    # a gait counts from where its cycle begins; a drive between its ramps
    first = int(np.flatnonzero(line.part == 1)[0])
    last = len(line.part) - 1
    if WAYS[way] is None:
        first, last = first + round(RAMP_S / STEP_S), last - round(RAMP_S / STEP_S)
    mechanical = electrical = sinkage = 0.0
    begin = end = state.q[:3].copy()
    for sample in range(last + 1):
        if sample == first:
            begin = state.q[:3].copy()
        plant.set_drives(tuple(line.speeds[sample].tolist()), False)
        plant.set_servos(tuple(line.angles[sample].tolist()), False)
        plant.advance(round((sample + 1) * STEP_S * 1e9))
        if sample >= first:
            torque = np.concatenate([state.drives.torque, plant.servo_torque])
            power = torque * np.concatenate([state.v[spin], state.v[turn]])
            mechanical += float(np.maximum(power, 0.0).sum()) * STEP_S
            electrical += float(np.maximum(power + losses * torque**2, 0.0).sum()) * STEP_S
            sinkage += float(state.ground.sinkage.mean()) / (last + 1 - first)
        if abs(turns(state.q)[1] + math.radians(slope_deg)) > TIPS_RAD:
            return Gone(math.nan, math.nan, math.nan, math.nan, math.nan, True)
        end = state.q[:3].copy()
    ahead = end - begin
    along = math.radians(slope_deg)
    way_m = float(ahead[0] * math.cos(along) + ahead[2] * math.sin(along))
    return Gone(way_m, float(line.path[last, 0] - line.path[first, 0]), mechanical, electrical, sinkage)


class StandingEquations:
    """The rover on a slope, its wheels under the loads that they bear at rest: closed forms of the hypervolume model.

    Args:
        soil: by name.
        slope_deg: of the ground.
        shear_m: shear displacement at the limit.
        low: the body's centre of mass at LOW_M.
    """

    def __init__(self, soil: str, slope_deg: float, shear_m: float, *, low: bool = False) -> None:
        config = config_of("driving", soil, slope_deg, shear_m, low=low)
        radius, bed = config.wheel_radius_m, Rig(config).nominal.ground.soil
        self._wheel = RigidWheel(radius, config.rover.parameters().tree().wheels[0].width, bed)
        rover, _, state = Rig(config).nominal.build()
        self.needed_N = rover.mass * GRAVITY_MPS2 * math.sin(math.radians(slope_deg))
        self.loads_N = [max(float(load), LEAST_N) for load in state.ground.vertical]
        depths = [self._sinkage(load, 0.0) for load in self.loads_N]
        self.resistance_N = [-float(self._wheel.forces(z, 0.0).longitudinal) for z in depths]
        full = [float(self._wheel.forces(z, 1.0).torque) / radius for z in depths]
        self.limit_N = [one_N / math.tanh(1.0 / bed.slip_modulus) for one_N in full]
        self._shear = shear_m

    def _sinkage(self, load_N: float, slip: float) -> float:
        return float(brentq(lambda z: float(self._wheel.forces(z, slip).vertical) - load_N, 1e-7, 0.17, xtol=1e-9))

    def drive(self) -> float:
        """Part of the rims' way that is driven, 1 - slip; NaN: no slip climbs this slope."""

        def spare(slip: float) -> float:
            pulls = (self._wheel.forces(self._sinkage(load, slip), slip).longitudinal for load in self.loads_N)
            return float(sum(pulls)) - self.needed_N

        return 1.0 - float(brentq(spare, 0.0, 1.0)) if spare(1.0) > 0.0 else math.nan

    def held(self, phase: Held) -> float:
        """Share of their shear limit that the held wheels bear if the others only resist."""
        resisting = sum(self.resistance_N[wheel] for wheel in phase.rolling)
        return (self.needed_N + resisting) / sum(self.limit_N[wheel] for wheel in phase.wheels)

    def walk(self, way: str, wanted_m: float) -> float:
        """Part of a cycle's way that is left; NaN: too little is left to hold the rover.

        Each phase shears the soil under its held wheels anew. Where they cannot hold, they slide back, and those that
        are driven along slip until all together bear the slope.
        """
        left = 1.0
        for phase in PHASES[way]:
            share = self.held(phase)
            left -= min(share, 1.0) * self._shear / wanted_m
            if share > 1.0:
                left -= phase.step * self._behind(phase)
        return left

    def _behind(self, phase: Held) -> float:
        """Speed at which the body falls behind, over that of the step."""

        def spare(behind: float) -> float:
            found = sum(self.limit_N[wheel] for wheel in phase.wheels) - self.needed_N
            for wheel, speed in phase.rolling.items():
                slip = min(behind / speed, 1.0)
                depth = self._sinkage(self.loads_N[wheel], slip)
                found += float(self._wheel.forces(depth, slip).longitudinal)
            return found

        most = max(phase.rolling.values(), default=0.0)
        return float(brentq(spare, 0.0, most)) if most and spare(most) > 0.0 else math.nan


def energy_at(rover: Rover, angle_deg: float, speed_mps: float = 0.07) -> float:
    """T_c [J] of both front wheels against an obstacle."""
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = speed_mps
    rows = rover.impact_jacobian(q, math.radians(angle_deg))
    return effective_kinetic_energy(rover.mass_matrix(q), rows, v)


def energies() -> list[tuple[float, float]]:
    """Walking angle [rad] and T_c [J] at 60 degrees, 0.07 m/s."""
    return [(angle, energy_at(ParametricParameters(walking_angle=angle).build(), 60.0)) for angle in QUOTED_J]


def postures(seeds: Sequence[int]) -> list[tuple[float, float, float, float]]:
    """Of each seed: peak force [N] and T_c [J] of a trial at 60 degrees as started, and in the posture of least T_c."""
    found = []
    for seed in seeds:
        row: list[float] = []
        for posture in ("as_started", "least_energy"):
            changes: dict[str, Any] = {
                "servos": {"joints": {"walking": {}}},
                "trial.posture": posture,
                "telemetry.endpoint": "",
            }
            with TemporaryDirectory() as folder:
                config = load_config("sim_impact", changes, seed=seed)
                summary = run_experiment(config, Path(folder), lambda _: None, figure=False).summary
            row += [summary["peak_force_N"], summary["effective_kinetic_energy_J"]]
        found.append((row[0], row[1], row[2], row[3]))
    return found


def _ratio(values: list[float]) -> str:
    """Mean and half-width of its 95 % interval, Student's t."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:.3f}"
    half = float(student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return f"{mean:.3f} +- {half:.3f}"


Runs = dict[tuple[str, float, float, bool], tuple[StandingEquations, dict[str, Gone]]]


def study(slopes: Sequence[int], cases: Sequence[tuple[str, float]]) -> Runs:
    """All runs: by soil, shear displacement, slope, and whether the body's centre of mass is low."""
    found: Runs = {}
    for soil, shear_m in cases:
        for slope in slopes:
            for low in (False, True) if slope in LOW_DEG else (False,):
                runs = {way: go(way, soil, slope, shear_m, low=low) for way in WAYS}
                found[soil, shear_m, slope, low] = StandingEquations(soil, slope, shear_m, low=low), runs
    return found


def _part(gone: Gone) -> str:
    return "tips over" if gone.tips else "none" if not gone.climbs else f"{gone.part:.2f}"


def _closed(value: float) -> str:
    return "none" if math.isnan(value) or value <= 0.0 else f"{value:.2f}"


def _equal(gone: Gone, drive: Gone, key: str) -> str:
    """Advance of a cycle over the way that a drive goes with the same energy."""
    if not gone.climbs:
        return "-"
    if not drive.climbs:
        return "drive: none"
    mine, other = (getattr(one, key) / one.way_m for one in (gone, drive))
    return f"{other / mine:.2f}"


def tables(found: Runs) -> list[str]:
    """Rows of advance and of energy, a table a soil."""
    lines: list[str] = []
    for soil, shear_m in dict.fromkeys((key[0], key[1]) for key in found):
        rows = {key: value for key, value in found.items() if key[:2] == (soil, shear_m)}
        at_rest = next(iter(rows.values()))[1]["driving"]
        sunk = "" if at_rest.tips else f", sinkage {1e3 * at_rest.sinkage_m:.0f} mm"
        lines += [*[""][: len(lines)], f"### {soil.capitalize()}, shear displacement {1e3 * shear_m:g} mm{sunk}"]
        heads = ["slope [deg]", "driving", "closed form"]
        for way in list(WAYS)[1:]:
            heads += [way, *(["closed form", "shear, held"] if way in PHASES else [])]
        lines += ["", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        for (_, _, slope, low), (standing, runs) in rows.items():
            cells = [f"{slope:g}{', low' if low else ''}", _part(runs["driving"]), _closed(standing.drive())]
            for way in list(WAYS)[1:]:
                cells.append(_part(runs[way]))
                if way in PHASES:
                    cells.append(_closed(standing.walk(way, runs[way].wanted_m if not runs[way].tips else 0.15)))
                    share = max(map(standing.held, PHASES[way]))
                    cells.append(f"{share:.2f}" if share < WHOLLY else "axle in the air")
            lines.append(f"| {' | '.join(cells)} |")
        heads = ["slope [deg]", "driving [J/m]"]
        for way in list(WAYS)[1:]:
            heads += [f"{way} [J/m]", "advance over driving", "with motor losses"]
        lines += ["", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        for (_, _, slope, low), (_, runs) in rows.items():
            cells = [f"{slope:g}{', low' if low else ''}"]
            for way, gone in runs.items():
                cells.append(f"{gone.mechanical_J / gone.way_m:.0f}" if gone.climbs else "-")
                if way != "driving":
                    cells += [_equal(gone, runs["driving"], key) for key in ("mechanical_J", "electrical_J")]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def over_sinkage(slopes: Sequence[int], soils: Sequence[str]) -> list[list[str]]:
    """Rows of walking against driving on soils from stiff to soft."""
    rows = []
    for slope in slopes:
        for soil in soils:
            runs = {way: go(way, soil, slope, SINKAGE_SHEAR_M) for way in WAYS}
            drive, standing = runs["driving"], StandingEquations(soil, slope, SINKAGE_SHEAR_M)
            rows.append([f"{slope}", f"{SOILS[soil]['soil.stiffness']:.3g}", f"{1e3 * drive.sinkage_m:.0f}"])
            rows[-1] += [_part(gone) for gone in runs.values()]
            rows[-1] += [_equal(gone, drive, "mechanical_J") for way, gone in runs.items() if way != "driving"]
            rows[-1] += [f"{max(map(standing.held, phases)):.2f}" for phases in PHASES.values()]
    return rows


def posture_rows(trials: Sequence[tuple[float, float, float, float]]) -> list[list[str]]:
    """Peak force and T_c as started, in the posture of least T_c, and their ratio."""
    rows = []
    for name, unit, began, least in (("T_c", "J", 1, 3), ("peak force", "N", 0, 2)):
        digits = ".3f" if unit == "J" else ".1f"
        means = [f"{np.mean([row[column] for row in trials]):{digits}} {unit}" for column in (began, least)]
        rows.append([name, *means, _ratio([row[least] / row[began] for row in trials])])
    root = math.sqrt(float(np.mean([row[3] / row[1] for row in trials])))
    return [*rows, ["peak force of a linear contact, by the root of T_c", "", "", f"{root:.3f}"]]


def draw(found: Runs) -> Figure:
    """Advance over slope, a panel a soil."""
    cases = list(dict.fromkeys((key[0], key[1]) for key in found))
    figure = Figure(figsize=(4.2 * len(cases), 3.6), layout="constrained")
    axes = figure.subplots(1, len(cases), squeeze=False)
    styles = {
        "driving": ("black", "o-"),
        "inch-worm, holding": ("#004488", "s-"),
        "inch-worm, locked": ("#4499cc", "s--"),
    }
    for panel, (soil, shear_m) in zip(axes[0], cases, strict=True):
        rows = {key[2]: value for key, value in found.items() if key[:2] == (soil, shear_m) and not key[3]}
        for way in WAYS:
            colour, line = styles.get(way, ("#bb5566", "^-"))
            points = [(slope, runs[way].part) for slope, (_, runs) in rows.items() if runs[way].climbs]
            if points:
                panel.plot(*zip(*points, strict=True), line, color=colour, label=way, ms=4)
        slopes = sorted(rows)
        panel.plot(
            slopes, [rows[slope][0].drive() for slope in slopes], ":", color="black", label="driving, closed form"
        )
        panel.set_title(f"{soil}, {1e3 * shear_m:g} mm", loc="left", fontsize=10)
        panel.set_xlabel("slope [deg]")
        panel.set_ylim(0.0, 1.05)
        panel.grid(color="#e4e4e4")
    axes[0, 0].set_ylabel("advance, part of what is wanted")
    axes[0, 0].legend(fontsize=7.5, frameon=False, loc="lower left")
    return figure


def write(out: Outputs) -> None:
    """Everything; quick: one slope of one soil, the softest soil of all, and no trials."""
    quoted = [
        [f"T_c at 60 deg, 0.07 m/s, walking angle {angle:g} rad", f"{QUOTED_J[angle]:.3f} J", f"{ours:.4f} J",
         f"{ours - QUOTED_J[angle]:+.4f} J", "rounding"]
        for angle, ours in energies()
    ]  # fmt: skip
    out.table(PAGE, "T_c", ("quantity", "computed apart", "ours", "difference", "why"), quoted)
    found = study((10,), CASES[1:2]) if out.quick else study(SLOPES_DEG, CASES)
    out.put(PAGE, "slopes", "\n".join(tables(found)))
    soils = sorted((soil for soil in SOILS if SOILS[soil]), key=lambda soil: -SOILS[soil]["soil.stiffness"])
    ways = list(WAYS)[1:]
    head = ["slope [deg]", "stiffness", "sinkage [mm]", *WAYS]
    head += [f"{way}, advance over driving" for way in ways] + [f"{way}, shear, held" for way in PHASES]
    out.table(
        PAGE, "sinkage", head, over_sinkage(SINKAGE_SLOPES_DEG[:1], soils[-1:]) if out.quick
        else over_sinkage(SINKAGE_SLOPES_DEG, soils),
    )  # fmt: skip
    out.picture(draw(found), "reproduce_walking.png")
    if not out.quick:  # a trial takes ten seconds
        head = ["mean over seeds", "as started", "posture of least T_c", "ratio, with the 95 % interval of its mean"]
        out.table(PAGE, "posture", head, posture_rows(postures(SEEDS)))


if __name__ == "__main__":
    write(outputs(__doc__))
