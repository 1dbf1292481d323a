"""Tools beside the run describe the same rig as the run: their answers move with its keys where physics says so.

Each tool is asked about a rig, and again with one key at a drawn value. What it must do then is in `MOVES` and `STAYS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import hil
from hil.analysis.energy import energy_curve, energy_per_metre, energy_per_radian, peak_over_masses
from hil.analysis.energy_variants import compliance, sensitivity, standing_curve
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.observer.filter_setup import load_errors, load_slopes
from hil.estimation.soil.soil_estimator import SoilEstimator
from hil.experiments.impact.predicted_force import predicted_force
from hil.experiments.throttle import limit_at_even_loads_deg
from models.impact import effective_kinetic_energy

# Where a key's value does not count, the answer differs by no more than rounding.
ROUNDING, MOVED = 1e-9, 1e-5
ANGLES = [40.0, 60.0]


def _standing(rig: Rig) -> Any:
    found = standing_curve(rig, ANGLES)
    return [found["friction_needed"], found["stability_deg"], *found["load_share"].values()]


def _load_slopes(rig: Rig) -> Any:
    rover = rig.nominal.make_rover()
    return load_slopes(rover, rover.neutral(), ("left_bogie", "right_bogie"), rig.nominal.ground.gravity)


def _load_errors(rig: Rig) -> Any:
    return load_errors(rig.nominal, rig.nominal.make_rover().neutral(), 0.05)[0]


# Name: config, further settings, what is asked.
TOOLS: dict[str, tuple[str, tuple[str, ...], Callable[[Rig], Any]]] = {
    "energy": ("sim_impact", (), lambda rig: energy_curve(rig, ANGLES)["energy_J"]),
    "masses": ("sim_impact", (), lambda rig: peak_over_masses(rig)[0].peak_energy_J),
    "compliance": ("sim_impact", (), lambda rig: compliance(rig, ANGLES)["over_plate"]["energy_J"]),
    "sensitivity": ("sim_impact", (), lambda rig: sensitivity(rig, ANGLES)["gradient_Jprad"]),
    "standing": ("sim_impact", (), _standing),
    # the drives go on until the grip of the ground ends
    "force": ("sim_impact", ("trial.release=timed",), lambda rig: predicted_force(rig).wheel_N),
    "slope": ("sim_slope", (), limit_at_even_loads_deg),
    "metre": ("sim_slope", (), lambda rig: np.nan_to_num(energy_per_metre(rig), posinf=0.0)[[25, 30, 35]]),
    "load slopes": ("sim_motion", ("imu=null", "joints=null"), _load_slopes),
    "load errors": (
        "sim_motion", ("imu=null", "joints=null"), _load_errors
    ),
    "weight along": ("sim_soil_estimate", ("ground.pitch_deg=5",), lambda rig: SoilEstimator(rig)._along_N),
    "weight": ("sim_impact", (), lambda rig: rig.weight_N),
}  # fmt: skip

# Name: settings of a drawn value. What a key stands on, such as the payload whose place is drawn, is in both rigs.
KEYS: dict[str, tuple[tuple[str, ...], Callable[[Random], tuple[str, ...]]]] = {
    "gravity": ((), lambda draw: (f"ground.gravity_mps2={draw.uniform(2.0, 7.0)}",)),
    "payload": ((), lambda draw: (f"rover.payload={{mass_kg: {draw.uniform(10, 60)}, x_m: 0.1, z_m: 0.9}}",)),
    "payload's height": (
        ("rover.payload={mass_kg: 30, z_m: 0.5}",),
        lambda draw: (f"rover.payload={{mass_kg: 30, z_m: {draw.uniform(0.7, 1.2)}}}",),
    ),
    "grousers": ((), lambda draw: ("wheel.grousers=22", f"wheel.grouser_height_m={draw.uniform(0.01, 0.04)}")),
    "soil": ((), lambda draw: (f"soil.stiffness={draw.uniform(8e5, 1.6e6)}",)),
    "shear": ((), lambda draw: (f"soil.friction_angle_deg={draw.uniform(26, 29)}",)),
    "drawbar": ((), lambda draw: (f"rover.drawbar={{pull_N: {draw.uniform(20, 80)}, z_m: 0.4}}",)),
    "lock": ((), lambda draw: ("rover.locks={rear_bogie: 0}", "cylinders.joints=[left_bogie, right_bogie]")),
    "pitch": ((), lambda draw: (f"ground.pitch_deg={draw.uniform(1, 4)}",)),
    "speed": ((), lambda draw: (f"trial.speed_mps={draw.uniform(0.04, 0.06)}",)),
}

ENERGIES = ("energy", "compliance", "sensitivity")
MOVES = [
    pytest.param("masses", "payload", marks=pytest.mark.slow),
    *((tool, key) for tool in ENERGIES for key in ("payload", "payload's height", "speed")),
    *(("standing", key) for key in ("payload", "payload's height", "grousers", "drawbar")),
    *(("force", key) for key in ("gravity", "payload", "shear", "drawbar", "pitch", "speed")),
    *(("slope", key) for key in ("gravity", "payload", "grousers", "soil", "shear", "drawbar")),
    *(("metre", key) for key in ("gravity", "payload", "grousers", "soil", "shear", "drawbar")),
    *(("load slopes", key) for key in ("gravity", "payload", "payload's height", "lock")),
    *(("load errors", key) for key in ("gravity",)),
    *(("weight along", key) for key in ("gravity", "payload", "pitch")),
    *(("weight", key) for key in ("gravity", "payload")),
]
STAYS = [
    *((tool, key) for tool in ENERGIES for key in ("gravity", "grousers", "soil", "drawbar", "pitch")),
    *(("standing", key) for key in ("gravity", "soil", "pitch", "speed")),
    *(("slope", key) for key in ("payload's height", "pitch")),
    *(("metre", key) for key in ("payload's height", "pitch")),
    *(("load slopes", key) for key in ("grousers", "soil", "drawbar")),
    *(("weight along", key) for key in ("payload's height", "grousers", "soil", "drawbar")),
    *(("weight", key) for key in ("payload's height", "grousers", "soil", "drawbar", "pitch", "speed")),
]


@cache
def answer(tool: str, settings: tuple[str, ...]) -> np.ndarray:
    config, own, ask = TOOLS[tool]
    rig = Rig(load_config(config, ["telemetry.endpoint=''", *own, *settings]))
    return np.array(ask(rig), dtype=np.float64)


def change(tool: str, key: str) -> float:
    """Of the answer with a drawn value of the key, over the answer's size; infinite where the shapes differ."""
    before, drawn = KEYS[key]
    one, other = answer(tool, before), answer(tool, drawn(Random(f"{tool} {key}")))
    return float(np.abs(other - one).max() / np.abs(one).max()) if one.shape == other.shape else math.inf


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "key"), MOVES)
def test_an_answer_moves_with_a_key_that_physics_says_it_depends_on(tool, key):
    assert change(tool, key) > MOVED


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "key"), STAYS)
def test_an_answer_does_not_move_with_a_key_that_physics_says_it_does_not_depend_on(tool, key):
    assert change(tool, key) <= ROUNDING


@pytest.mark.parametrize(("tool", "power"), [("slope", 0), ("metre", 1), ("load slopes", 1), ("standing", 0)])
def test_weight_and_soil_a_third_as_strong_give_the_same_angles_and_a_third_of_the_forces(tool, power):
    """Similarity: without friction of gears, gravity and the soil's stresses are the only scales of force."""
    share, frictionless = 0.37, "drives.gear_friction_Nm=0"
    soil = ("soil.exponent=0.9", "soil.cohesion_Pa=200")
    whole = answer(tool, (frictionless, *soil, "soil.stiffness=1e6"))
    less = (f"ground.gravity_mps2={share * 9.81}", f"soil.stiffness={share * 1e6}", f"soil.cohesion_Pa={share * 200}")
    np.testing.assert_allclose(answer(tool, (frictionless, *soil, *less)), share**power * whole, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_a_turn_costs_the_less_energy_the_less_the_rover_weighs():
    short = ("experiment=drive", "telemetry.endpoint=''", "rover.type=juno", "daq=null", "cylinders.joints=[]")
    earth, moon = (
        energy_per_radian(Rig(load_config("sim_slope", [*short, "ground.pitch_deg=0", *more])))
        for more in ((), ("ground.gravity_mps2=1.62",))
    )
    assert 0.0 < moon < 0.5 * earth


def test_a_payload_adds_its_mass_to_the_impact_by_the_parallel_axis_theorem():
    mass, edge, place = 60.0, 0.2, np.array([0.1, 0.0, 1.0])
    rig = Rig(load_config("sim_impact", [f"rover.payload={{mass_kg: {mass}, x_m: 0.1, z_m: 1, edge_m: {edge}}}"]))
    bare = Rig(load_config("sim_impact")).nominal.make_rover()
    q, v = bare.neutral(), np.zeros(bare.nv)
    v[0] = rig.config.trial.speed_mps
    x, y, z = place
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    moved = np.hstack([np.eye(3), -skew])  # speed of the payload's centre, by that of the base
    matrix = bare.mass_matrix(q)
    matrix[:6, :6] += mass * moved.T @ moved
    matrix[3:6, 3:6] += mass * edge**2 / 6.0 * np.eye(3)
    expected = [effective_kinetic_energy(matrix, bare.impact_jacobian(q, math.radians(angle)), v) for angle in ANGLES]
    found = energy_curve(rig, ANGLES)["energy_J"]
    assert found == pytest.approx(expected, rel=1e-9)
    assert min(found) > 1.1 * max(0.0, min(energy_curve(Rig(load_config("sim_impact")), ANGLES)["energy_J"]))


def test_only_what_checks_instruments_on_earth_knows_the_earths_gravity():
    folder = Path(hil.__file__).parent
    found = {
        str(file.relative_to(folder))
        for file in folder.rglob("*.py")
        if "from models.gravity" in file.read_text("utf-8")
    }
    assert found == {
        "analysis/soil_tests.py",  # wheels measured on Earth
        "app/instrument_calibration.py",
        "config/checks/model_cross_checks.py",  # refuses another one where an instrument measures it
        "safety/instrument_values.py",
    }
