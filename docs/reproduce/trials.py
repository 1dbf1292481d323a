"""Parameters of the reproduction, and the simulated impacts that its figures are made of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from matplotlib.figure import Figure

from hil.config import Config, load_config
from hil.config.model_parameters import nominal_rig
from models.impact import effective_kinetic_energy
from models.plant import RigParameters
from models.vehicle import run

HERE = Path(__file__).parent
TOUCH_M = 1e-6  # distance to the plate at the start


class Row(NamedTuple):
    """One line of the page.

    Attributes:
        figure: of the thesis.
        quoted: what it says.
        ours: what this program gives.
        difference: between both.
        why: the reason for it.
    """

    figure: str
    quoted: str
    ours: str
    difference: str
    why: str


@dataclass(frozen=True)
class Section:
    """What one figure of the thesis comes to.

    Attributes:
        rows: lines of the page's table.
        pictures: by the names of their files.
        tables: further ones, in Markdown, by their names.
    """

    rows: list[Row]
    pictures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)


class Impact(NamedTuple):
    """What one simulated impact comes to.

    Attributes:
        peak_N: largest contact force over both front wheels.
        depth_m: largest indentation at a front wheel.
        contact_s: from the first touch to the first release; NaN: it lasts longer than was simulated.
        energy_J: effective kinetic energy at the first touch, without ground.
    """

    peak_N: float
    depth_m: float
    contact_s: float
    energy_J: float


class Study:
    """One computation of the page.

    Attributes:
        quick: with the values of `quick` in parameters.yaml: points of the figures, not all of them.
        numbers: what each simulated impact and trial came to, by what was simulated; the data file has them.
    """

    quick: bool
    numbers: dict[str, list[float | None]]

    def __init__(self) -> None:
        self.begin(quick=False)

    def begin(self, *, quick: bool) -> None:
        """Begin anew, with no numbers."""
        self.quick, self.numbers = quick, {}


STUDY = Study()


def parameters() -> dict[str, Any]:
    """The numbers of parameters.yaml; of a quick study, those under `quick` in the place of others."""
    given = _parameters()
    return _over(given, given["quick"]) if STUDY.quick else given


@cache
def _parameters() -> dict[str, Any]:
    return dict(yaml.safe_load((HERE / "parameters.yaml").read_text(encoding="utf-8")))


def _over(under: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    deeper = {key: _over(under[key], value) if isinstance(value, Mapping) else value for key, value in values.items()}
    return {**under, **deeper}


def span(values: tuple[float, float, float]) -> np.ndarray:
    """From the first to the last value, end included."""
    first, last, step = values
    return np.arange(first, last + 0.5 * step, step, dtype=float)


def angles() -> np.ndarray:
    """Angles of a figure [deg]."""
    return span(parameters()["angles_deg"])


def fine_angles() -> np.ndarray:
    """Angles among which a peak is located [deg]."""
    return span(parameters()["fine_angles_deg"])


def config_of(chapter: str, keys: Mapping[str, Any]) -> Config:
    """The config of one chapter's simulations, `keys` over it."""
    given = {**parameters()[chapter], **keys}
    return load_config(parameters()["config"], [f"{key}={value}" for key, value in given.items()])


def rig_of(config: Config, *, steel: bool) -> RigParameters:
    """The nominal rig without sensors, just before the plate; `steel`: Hertz's contact of wheel and plate (5.3)."""
    rig = replace(nominal_rig(config), piezo=None, sample_rate_hz=0, start_distance=0.01)
    assert rig.obstacle is not None
    if not steel:
        return rig
    given, radius = parameters()["steel"], rig.rover.build().tree.wheels[0].radius
    h = (1.0 - given["poissons_ratio"] ** 2) / (math.pi * given["youngs_modulus_Pa"])
    stiffness = 4.0 / (3.0 * math.pi * 2.0 * h) * math.sqrt(radius)
    return replace(rig, obstacle=rig.obstacle._replace(stiffness=stiffness, exponent=given["exponent"]))


def impact(chapter: str, keys: Mapping[str, Any], *, driven: bool = False, weight: bool = False) -> Impact:
    """Simulate one impact of the nominal rover, each only once: no noise, no spread.

    Args:
        chapter: chapter_5 (steel) or chapter_6 (legs), of parameters.yaml.
        keys: of the config, over that chapter's.
        driven: the drives keep turning the wheels at the speed of rolling; else the axles are free.
        weight: gravity acts, where there is a ground.
    """
    ways = " driven" * driven + " with weight" * weight
    name = f"impact {chapter}{ways} {json.dumps({**parameters()[chapter], **keys}, sort_keys=True)}"
    if name not in STUDY.numbers:
        STUDY.numbers[name] = [None if math.isnan(one) else one for one in _simulated(chapter, keys, driven, weight)]
    return Impact(*(math.nan if one is None else one for one in STUDY.numbers[name]))


def _simulated(chapter: str, keys: Mapping[str, Any], driven: bool, weight: bool) -> Impact:
    steel = chapter == "chapter_5"
    config, timing = config_of(chapter, keys), parameters()["steel" if steel else "legs"]
    rig = rig_of(config, steel=steel)
    rover, vehicle, state = rig.build() if weight else rig.assemble()
    if not weight:  # it does not sink in either: it starts on the ground's surface
        vehicle = vehicle._replace(gravity=np.zeros(3))
        state.q[2], state.v[0] = rig.grouser_heights[0], config.trial.speed_mps
    vehicle = vehicle._replace(obstacle=_touching(vehicle.obstacle, rover, state))
    energy = _energy(config, rover, state)
    if driven:
        spin = config.trial.speed_mps / config.wheel_radius_m
        vehicle = vehicle._replace(drive=rig.drive)
        state.drives.cut[:], state.drives.set_speed[:] = 0.0, spin
        state.v[5 + rover.chain.wheel_body] = spin
    dt = timing["step_us"] * 1e-6
    force, depth = np.zeros((round(timing["contact_s"] / dt), 2)), 0.0
    for row in force:
        run(vehicle, state, 1, dt)
        row[:] = state.obstacle.force[:2]
        depth = max(depth, -float(state.obstacle.gap.min()))
    pressed = force.sum(axis=1) > 0.0
    first = int(np.argmax(pressed))
    free = np.flatnonzero(~pressed[first:])
    lasted = free[0] * dt if free.size else math.nan
    return Impact(float(force.sum(axis=1).max()), depth, lasted, energy)


def _touching(obstacle: Any, rover: Any, state: Any) -> Any:
    """The obstacle just before the front wheels where they now are, sunk in or not."""
    x, _, z = rover.wheel_positions(rover.own_configuration(state.q))[0]
    reach = rover.tree.wheels[0].radius + TOUCH_M - math.cos(obstacle.angle) * z
    return obstacle._replace(foot=x + reach / math.sin(obstacle.angle))


def _energy(config: Config, rover: Any, state: Any) -> float:
    q, v = rover.own_configuration(state.q), rover.own_speeds(state.v)
    jacobian = rover.impact_jacobian(q, math.radians(config.trial.angle_deg))
    return effective_kinetic_energy(rover.mass_matrix(q), jacobian, v)


def over(chapter: str, at: np.ndarray, keys: Mapping[str, Any], **kind: bool) -> tuple[np.ndarray, np.ndarray]:
    """Peak force [N] and effective kinetic energy [J] over the angles [deg]."""
    found = [impact(chapter, {**keys, "trial.angle_deg": float(angle)}, **kind) for angle in at]
    return np.array([one.peak_N for one in found]), np.array([one.energy_J for one in found])


def peak_of(at: np.ndarray, values: np.ndarray) -> float:
    """Where the largest value lies, by the parabola through it and its neighbours; an end if it lies there."""
    i = int(np.argmax(values))
    if i in (0, len(values) - 1):
        return float(at[i])
    before, top, after = values[i - 1 : i + 2]
    return float(at[i] + 0.5 * (at[1] - at[0]) * (before - after) / (before - 2.0 * top + after))


def new_figure(columns: int) -> tuple[Figure, list[Any]]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(4.8 * columns, 3.8), layout="constrained")
    panels = list(np.atleast_1d(figure.subplots(1, columns)))
    for axes in panels:
        axes.grid(visible=True, alpha=0.3)
    return figure, panels
