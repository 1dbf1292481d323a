"""Every public constructor and query of the models refuses a bad number by name, with the value found and the range."""

from __future__ import annotations

import inspect
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import models.impact
import models.wheel
from models.actuators.drive import Drive, check_drive
from models.actuators.pneumatic import Cylinder, check_cylinder
from models.contact import laws
from models.contact.compliant import make_compliant_ground
from models.contact.constraints import effective_kinetic_energy_on_ground
from models.contact.laws import LAWS, make_law
from models.contact.obstacle import Obstacle, check_obstacle
from models.impact import (
    Payload,
    capture,
    compliant_effective_kinetic_energy,
    effective_kinetic_energy,
    energy_gradient,
    mass_matrix_with,
    on_springs,
    operational_inertia,
    projectors,
)
from models.rover import exomars, exomars_like, parametric, rcp, rocker_bogie, single_wheel, xu
from models.rover.ties import Coupling
from models.rover.tree import Body, Joint, WheelMount
from models.sensors.piezo import Piezo, check_piezo, shares_of
from models.wheel import PRESETS, CrownedWheel, FlexibleWheel, RigidWheel, Ring, Soil, published, soil
from references import wheel_stresses
from references.drop import drop
from references.trapezoidal import trapezoidal


class Good(NamedTuple):
    """A good value of a parameter, and which of 0 and -1 is not; NaN and infinity never are."""

    value: Any
    bad: tuple[float, ...]


def above(value: Any) -> Good:
    return Good(value, (0.0, -1.0))


def from_0(value: Any) -> Good:
    return Good(value, (-1.0,))


def free(value: Any) -> Good:
    return Good(value, ())


def parameters_of(build):
    """Of a rover."""
    special = {"added_mass": from_0, "walking_angle": free}
    kind = build.__self__
    return {name: special.get(name, above)(getattr(kind, name)) for name in kind.quantities()}


BUILDERS = (rcp, parametric, exomars_like, exomars, rocker_bogie, single_wheel, xu)
ROVER = rcp()
Q, V = ROVER.neutral(), np.full(15, 0.07)
M, J = above(ROVER.mass_matrix(Q)), free(ROVER.impact_jacobian(Q, 1.0))
AXES = {"q": free(Q), "v": free(V)}
GRAVITY = {"gravity": free(np.array([0.0, 0.0, -9.81]))}
WRENCHES = {"wrenches": free(np.zeros((6, 6))), **GRAVITY}
SIZE = {"radius": above(0.2), "width": above(0.1)}
SINKAGE, DEEP = {"sinkage": free(0.01)}, {"sinkage": above(0.01)}
SOIL = {
    "stiffness": above(1e6), "exponent": above(0.8), "cohesion": from_0(100.0), "friction_angle": from_0(0.5),
    "rebound": above(0.1), "slip_modulus": above(0.2), "shear_modulus": above(0.01), "peak_offset": from_0(0.4),
    "peak_slope": from_0(0.15), "lateral_rate": from_0(3.0),
}  # fmt: skip
LOOSE = Soil(**{name: good.value for name, good in SOIL.items()})
WHEEL = RigidWheel(0.2, 0.1, LOOSE)
RING = {"bending_stiffness": above(2.0), "hub_stiffness": above(1e4), "mass_per_length": from_0(0.4)}
DOMED = CrownedWheel(0.2, 0.1, LOOSE, 0.3)
SOFT = FlexibleWheel(0.2, 0.1, LOOSE, Ring(2.0, 1e4))
RUTTED = FlexibleWheel(0.2, 0.1, LOOSE, Ring(2.0, 1e4), ruts=True)
BEKKER, ISHIGAMI = soil.Bekker(0.8, 1e3, 1e6), soil.Ishigami(0.8, 1e3, 1e4, 10.0, 1e3)
EXPONENT = {"exponent": above(0.8)}
LAW = {"stiffness": above(1e5), "exponent": above(1.0), "restitution": above(0.5)}
HERTZ = make_law("hertz", 1e5)
LOAD = Payload(10.0, np.eye(3), np.array([0.5, 0.0, 0.1]))
VISCOUS = ("kelvin_voigt", "visco_elastic")
PLATE = Obstacle(1.0, 0.0, 5e4, 1.0, 0.9, 0.1, 0.005)
PIEZO = Piezo(
    np.array([[0.0, 0.1], [-0.1, -0.1], [0.1, -0.1]]), np.full(3, 0.011), np.zeros(3), np.zeros(3), 10.0, 3e-4,
    np.full(3, 0.5), 20.0, 0.05, 0.2,
)  # fmt: skip

# By name: the callable, and a good value of each of its numbers and arrays.
PUBLIC: dict[str, tuple[Any, dict[str, Good]]] = {
    "Soil": (Soil, SOIL),
    "Soil whose shear stress peaks": (
        lambda **k: Soil(1e6, 0.8, friction_angle=0.5, rebound=0.1, slip_modulus=0.2, shear="oida", **k),
        {"shear_residual": from_0(0.6)},
    ),
    "RigidWheel": (lambda **k: RigidWheel(soil=LOOSE, **k), {**SIZE, "grouser_height": from_0(0.01)}),
    "RigidWheel.hypervolume": (WHEEL.hypervolume, SINKAGE),
    "RigidWheel.normal_force": (WHEEL.normal_force, SINKAGE),
    "RigidWheel.normal_force_in_rut": (WHEEL.normal_force_in_rut, {**SINKAGE, "deepest": free(0.01)}),
    "RigidWheel.forces": (WHEEL.forces, {**SINKAGE, "slip": free(0.1)}),
    "RigidWheel.forces_at_angle": (
        WHEEL.forces_at_angle, {**SINKAGE, "slip": free(0.1), "slip_angle": free(0.1)}
    ),
    "RigidWheel.moving_forces": (
        WHEEL.moving_forces,
        {**SINKAGE, "forward_speed": free(0.1), "rolling_speed": free(0.1), "sideways_speed": free(0.1),
         "slip_speed": above(1e-3)},
    ),
    "Ring": (Ring, RING),
    "CrownedWheel": (lambda **k: CrownedWheel(soil=LOOSE, **k), {**SIZE, "crown": above(0.3)}),
    "CrownedWheel.hypervolume": (DOMED.hypervolume, DEEP),
    "CrownedWheel.normal_force": (DOMED.normal_force, SINKAGE),
    "CrownedWheel.forces": (DOMED.forces, {**SINKAGE, "slip": free(0.1)}),
    "FlexibleWheel": (lambda **k: FlexibleWheel(soil=LOOSE, ring=SOFT.ring, **k), SIZE),
    "FlexibleWheel.normal_force": (SOFT.normal_force, {**SINKAGE, "share": free(0.1)}),
    "FlexibleWheel.normal_force_in_rut": (
        RUTTED.normal_force_in_rut, {**SINKAGE, "deepest": free(0.005), "share": free(0.1)},
    ),
    "FlexibleWheel.forces": (SOFT.forces, {**SINKAGE, "slip": free(0.1)}),
    "FlexibleWheel.deflection": (SOFT.deflection, {"sinkage": above(0.01), "share": free(0.1)}),
    "FlexibleWheel.stress_forces": (SOFT.stress_forces, {"sinkage": above(0.01), "slip": free(0.1)}),
    "Preset.soil": (
        PRESETS["small_wheel_sand"].soil,
        {**SIZE, **{name: SOIL[name] for name in ("friction_angle", "rebound", "slip_modulus", "cohesion")}},
    ),
    "passive_pressure": (
        soil.passive_pressure,
        {"cohesion": from_0(100.0), "friction_angle": from_0(0.5), "unit_weight": above(1.6e4)},
    ),
    "BernsteinGoriatchkin": (soil.BernsteinGoriatchkin, {**EXPONENT, "modulus": from_0(1e6)}),
    "Bekker": (
        soil.Bekker, {**EXPONENT, "cohesive_modulus": from_0(1e3), "frictional_modulus": from_0(1e6)}
    ),
    **{
        law.__name__: (
            law,
            {**EXPONENT, "cohesion": from_0(1e3), "specific_weight": from_0(1e4), "cohesive_modulus": from_0(10.0),
             "frictional_modulus": from_0(1e3)},
        )
        for law in (soil.Reece, soil.Ishigami)
    },
    "MeirionGriffithSpenko": (
        soil.MeirionGriffithSpenko,
        {**EXPONENT, "modulus": from_0(1e6), "diameter_exponent": free(0.39)},
    ),
    "SinkageLaw.stiffness": (BEKKER.stiffness, SIZE),
    "SinkageLaw.pressure": (BEKKER.pressure, {**SINKAGE, **SIZE}),
    "Ishigami.pressure_at": (ISHIGAMI.pressure_at, {"angle": free(0.1), "static_angle": free(0.5), **SIZE}),
    "published.regression": (published.regression, SIZE),
    "published.plastic_factor": (published.plastic_factor, {"rebound": above(0.1)}),
    "published.centroid_shift": (published.centroid_shift, {**EXPONENT, "a_1": above(0.7)}),
    "wheel_stresses.bekker_hypervolume": (
        wheel_stresses.bekker_hypervolume, {**SIZE, **EXPONENT, "sinkage": from_0(0.01)}
    ),
    "wheel_stresses.hypervolume": (wheel_stresses.hypervolume, {**SIZE, "exponent": from_0(0.8), **DEEP}),
    "wheel_stresses.normal_resultants": (
        lambda **k: wheel_stresses.normal_resultants(soil=LOOSE, **k), {**SIZE, **DEEP}
    ),
    "wheel_stresses.wheel_forces": (
        lambda **k: wheel_stresses.wheel_forces(soil=LOOSE, **k), {**SIZE, **DEEP, "slip": from_0(0.1)}
    ),
    "Body": (
        lambda **k: Body("b", **k),
        {"mass": above(1.0), "com": free(np.zeros(3)), "inertia": above(np.ones(3))},
    ),
    "Joint": (
        lambda **k: Joint("j", "a", "b", **k),
        {"origin": free(np.zeros(3)), "axis": Good(np.eye(3)[2], (0.0,)), "locked_at": free(0.1)},
    ),
    "Coupling": (
        lambda ratio, offset: Coupling("a", (("b", ratio),), offset),
        {"ratio": Good(1.0, (0.0,)), "offset": free(0.1)},
    ),
    "WheelMount": (lambda **k: WheelMount("w", "b", **k), SIZE),
    **{build.__self__.rover: (build, parameters_of(build)) for build in BUILDERS},
    "Rover.with_locks": (lambda steering: ROVER.with_locks({"steering": steering}), {"steering": free(0.1)}),
    "Rover.mass_matrix": (ROVER.mass_matrix, {"q": free(Q)}),
    "Rover.wheel_positions": (ROVER.wheel_positions, {"q": free(Q)}),
    "Rover.tree_configuration": (ROVER.tree_configuration, {"q": free(Q)}),
    "Rover.tree_speeds": (ROVER.tree_speeds, {"v": free(V)}),
    "Rover.bias": (ROVER.bias, {**AXES, **GRAVITY}),
    "Rover.forward_dynamics": (ROVER.forward_dynamics, {**AXES, "tau": free(V), **WRENCHES}),
    "Rover.driven_dynamics": (
        ROVER.driven_dynamics, {**AXES, "tau": free(V), "wheel_acceleration": free(np.ones(6)), **WRENCHES}
    ),
    "Rover.impact_jacobian": (ROVER.impact_jacobian, {"q": free(Q), "angle": free(1.0)}),
    "trapezoidal": (
        lambda **k: trapezoidal(ROVER, **k),
        {**AXES, "dt": above(1e-3), "steps": from_0(1), "tau": free(V), **GRAVITY},
    ),
    **{
        f"make_law {name}": (
            lambda name=name, **k: make_law(name, **k), LAW | ({"damping": from_0(100.0)} if name in VISCOUS else {})
        )
        for name in LAWS
    },
    "make_law by mass": (
        lambda **k: make_law("kelvin_voigt", **k),
        {"stiffness": above(1e5), "restitution": above(0.5), "mass": above(3.0)},
    ),
    "make_firm": (
        lambda **k: make_compliant_ground(HERTZ, **k), {"friction": from_0(0.1), "friction_speed": above(0.005)}
    ),
    "check_obstacle": (
        lambda **k: check_obstacle(PLATE._replace(**k)),
        LAW | {
            "angle": above(1.0), "friction": from_0(0.1), "friction_speed": above(0.005), "damping": from_0(0.1),
            "leg_compliance": from_0(np.full(6, 1e-6)), "leg_damping": from_0(1.0), "grousers": from_0(22),
            "grouser_offset": free(0.1),
        },
    ),
    "drop": (
        lambda **k: drop(HERTZ, **k),
        {"mass": above(1.0), "speed": above(0.1), "weight": from_0(1.0), "dt": above(1e-4), "longest": above(1.0)},
    ),
    "gonthier_factor": (laws.gonthier_factor, {"restitution": above(0.5)}),
    "hysteretic_restitution": (laws.hysteretic_restitution, {"factor": from_0(0.5)}),
    "kelvin_voigt_restitution": (laws.kelvin_voigt_restitution, {"damping_ratio": from_0(0.5)}),
    "kelvin_voigt_damping": (
        laws.kelvin_voigt_damping,
        {"stiffness": above(1e4), "mass": above(3.0), "restitution": above(0.5)},
    ),
    "effective_kinetic_energy_on_ground": (
        lambda **k: effective_kinetic_energy_on_ground(ROVER, **k), {**AXES, "angle": free(1.0)}
    ),
    "effective_kinetic_energy": (
        effective_kinetic_energy, {"mass_matrix": M, "jacobian": J, "velocity": free(V)}
    ),
    "operational_inertia": (operational_inertia, {"mass_matrix": M, "jacobian": J}),
    "projectors": (projectors, {"mass_matrix": M, "jacobian": J}),
    "energy_gradient": (lambda **k: energy_gradient(ROVER, **k), {**AXES, "angle": free(1.0)}),
    "on_springs": (lambda **k: on_springs(ROVER, **k), {"q": free(Q), "angle": free(1.0)}),
    "compliant_effective_kinetic_energy": (
        compliant_effective_kinetic_energy,
        {"mass_matrix": M, "jacobian": J, "velocity": free(V), "stiffness": from_0(np.zeros(15)),
         "contact_stiffness": above(1e4)},
    ),
    "Payload": (
        Payload, {"mass": above(10.0), "inertia": above(np.eye(3)), "place": free(np.array([0.5, 0.0, 0.1]))}
    ),
    "capture": (
        lambda **k: capture(payload=LOAD, **k),
        {"mass_matrix": above(2.0 * np.eye(6)), "jacobian": free(np.eye(6)), "velocity": free(np.ones(6)),
         "payload_velocity": free(np.ones(6)), "restitution": from_0(0.5), "directions": free(np.eye(6)[:2])},
    ),
    "mass_matrix_with": (
        lambda **k: mass_matrix_with(payload=LOAD, **k),
        {"mass_matrix": above(2.0 * np.eye(6)), "jacobian": free(np.eye(6))},
    ),
    "check_drive": (
        lambda **k: check_drive(Drive(**k)),
        {name: (above if name == "friction_speed" else from_0)(0.5) for name in Drive._fields if name != "motor"},
    ),
    "check_cylinder": (
        lambda **k: check_cylinder(Cylinder(**k)),
        {name: (from_0 if name == "supply" else above)(0.1) for name in Cylinder._fields},
    ),
    "check_piezo": (
        lambda **k: check_piezo(Piezo(**k)),
        {
            name: {
                "place": free, "sensitivity": from_0, "bias": free, "noise": from_0, "ring_damping": from_0,
                "ring_share": from_0, "rear_reach": from_0, "link": free,
            }.get(name, above)(value)
            for name, value in PIEZO._asdict().items()
        },
    ),
    "shares_of": (shares_of, {"place": free(PIEZO.place), "across": free(0.01), "up": free(0.0)}),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_good_values_are_taken(name):
    call, good = PUBLIC[name]
    call(**{key: item.value for key, item in good.items()})


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, (_, good) in PUBLIC.items() for key in good])
def test_a_bad_number_is_refused_by_name_with_value_and_range(name, key):
    """Of an array, in its last place."""
    call, good = PUBLIC[name]
    for bad in (math.nan, math.inf, -math.inf, *good[key].bad):
        value = bad
        if np.ndim(good[key].value):
            value = np.array(good[key].value, dtype=float)
            value.flat[-1] = bad
        with pytest.raises(ValueError, match=r"allowed|needed") as caught:
            call(**{other: item.value for other, item in good.items()} | {key: value})
        assert key in str(caught.value) or key == "steering"
        assert f"{bad:g}" in str(caught.value)


@pytest.mark.parametrize("package", [models.wheel, models.impact])
def test_nothing_that_a_package_gives_out_is_left_out_here(package):
    for name in package.__all__:
        item = getattr(package, name)
        if inspect.isfunction(item) or (inspect.isclass(item) and not hasattr(item, "_fields")):
            assert any(called.split(".")[0] == name for called in PUBLIC), name


@pytest.mark.parametrize("owner", [RigidWheel, CrownedWheel, FlexibleWheel, type(ROVER)])
def test_no_query_that_takes_numbers_is_left_out_here(owner):
    numbers = {"q", "v", "sinkage"}
    for name, method in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_") and numbers & set(inspect.signature(method).parameters):
            assert f"{owner.__name__}.{name}" in PUBLIC
