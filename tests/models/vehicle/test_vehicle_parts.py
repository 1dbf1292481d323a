"""Options of a vehicle besides rover and ground: no obstacle, cylinders, loads, motors that drive two wheels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.actuators.drive import Drive
from models.actuators.pneumatic import Cylinder, mount_cylinders
from models.plant import Plant
from models.rover import juno, rcp
from models.vehicle import VehicleModel, make_vehicle_state, run
from models.vehicle.loads import CubePayload, Drawbar

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

DT, S = 1e-4, 1_000_000_000
FLOATING = np.zeros(3)
IDLE = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
CYLINDER = Cylinder(1.14e-3, 207e3, 0.05, 0.03, 0.25)


def test_without_an_obstacle_a_rover_moves_as_before_one_that_it_never_reaches(bench):
    far, none = bench.vehicle(foot=1e6), bench.vehicle()._replace(obstacle=None)
    states = [bench.driving(where, 0.05) for where in (far, none)]
    assert np.array_equal(states[0].q, states[1].q)
    assert np.array_equal(states[0].v, states[1].v)
    assert states[1].v[0] > 0.01


def test_a_cylinders_pressure_is_its_torque_on_its_joint(bench):
    mounts = mount_cylinders(bench.rover, ("rear_bogie", "left_bogie"), CYLINDER)
    pressed, pushed = make_vehicle_state(bench.rover, cylinders=2), bench.resting()
    pressed.q[:] = pushed.q
    pressed.cylinders.pressure[:] = (1e5, 0.0), (2e4, 7e4)
    names = bench.rover.tree_joint_names
    for name, pressure in (("rear_bogie", 1e5), ("left_bogie", -5e4)):
        pushed.torque[6 + names.index(name)] = pressure * CYLINDER.area * CYLINDER.lever
    where = bench.vehicle()._replace(obstacle=None)
    run(where._replace(cylinders=mounts), pressed, 500, DT)
    run(where, pushed, 500, DT)
    assert np.abs(pushed.q - bench.settled.q).max() > 1e-4
    assert pressed.q == pytest.approx(pushed.q, abs=1e-12)
    assert pressed.cylinders.torque == pytest.approx([28.5, -14.25])


def test_a_payload_adds_the_inertia_of_a_cube_at_its_place():
    mass, place, edge = 30.0, np.array([0.2, -0.1, 0.9]), 0.3
    bare = rcp()
    loaded = CubePayload(mass, tuple(place), edge).on(bare)
    added = loaded.mass_matrix(loaded.neutral()) - bare.mass_matrix(bare.neutral())
    x, y, z = place
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turning = mass * edge**2 / 6.0 * np.eye(3) - mass * cross @ cross
    wanted = np.zeros_like(added)
    wanted[:6, :6] = np.block([[mass * np.eye(3), -mass * cross], [mass * cross, turning]])
    assert added == pytest.approx(wanted, abs=1e-10)
    assert CubePayload().on(bare) is bare


def test_a_drawbar_accelerates_the_base_as_its_force_at_its_point_does():
    rover, drawbar = rcp(), Drawbar((-120.0, 10.0, 5.0), (-0.7, 0.1, 0.5))
    where = VehicleModel(rover.chain, None, IDLE, None, FLOATING)
    state, tau = make_vehicle_state(rover), np.zeros(rover.nv)
    state.pull[:] = drawbar.wrench()
    tau[:3], tau[3:6] = drawbar.force, np.cross(drawbar.place, drawbar.force)
    run(where, state, 1, DT)
    wanted = rover.forward_dynamics(rover.neutral(), np.zeros(rover.nv), tau, gravity=(0.0, 0.0, 0.0))
    assert state.v == pytest.approx(DT * wanted, rel=1e-9, abs=1e-12)
    assert not Drawbar().wrench().any()


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (lambda: CubePayload(-1.0).on(rcp()), "payload: mass is -1.0"),
        (lambda: CubePayload(1.0, (0.0, math.nan, 0.0), 0.0).on(rcp()), r"payload: edge is 0.0.*place\[1\] is nan"),
        (lambda: Drawbar((math.inf, 0.0, 0.0), (0.0, 0.0, 99.0)).wrench(), r"drawbar: force\[0\] is inf.*place\[2\]"),
    ],
)
def test_loads_that_cannot_be_are_refused(load, said):
    with pytest.raises(ValueError, match=said):
        load()


def driven_in_the_air(rover, torque_limit: float):
    """All motors at their limit for 10 ms."""
    drive = Drive(1e6, 0.0, torque_limit, 0.0, 1.0, 0.0, 0.0, 0.0)
    state = make_vehicle_state(rover)
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 100.0
    run(VehicleModel(rover.chain, None, drive, None, FLOATING), state, 100, DT)
    return state


def test_the_motor_of_a_side_turns_both_wheels_of_its_chain_as_two_motors_of_half_its_torque_would():
    one, two = driven_in_the_air(juno(), 8.0), driven_in_the_air(juno(chains=False), 4.0)
    axles = 5 + juno().chain.wheel_body
    assert one.v[axles].min() > 0.1
    assert one.v == pytest.approx(two.v, rel=1e-9, abs=1e-12)
    assert one.drives.torque == pytest.approx([8.0, 8.0, 0.0, 0.0])
    assert two.drives.torque == pytest.approx([4.0] * 4)


@pytest.fixture(scope="module")
def juno_rig():
    config = load_config("sim_impact", ["rover.type=juno", "drives.torque_limit_Nm=400"])
    return replace(nominal_rig(config), obstacle=None)


def test_juno_turns_by_its_sides_and_needs_no_obstacle_or_cylinder(juno_rig):
    plant = Plant(juno_rig, np.random.default_rng(1))
    plant.set_drives((0.2, 0.8, 0.0, 0.0), False)  # a rear wheel follows its front wheel for any command
    for tick in range(1, 11):
        plant.advance(tick * S // 10)
    assert plant.wheel_speed == pytest.approx([0.2, 0.8, 0.2, 0.8], rel=0.05)
    assert plant._state.v[5] > 0.02  # to port
    assert plant.hit_ns is None
    assert all(map(math.isnan, plant.effective_kinetic_energies_now()))
    assert plant._state.ground.vertical.sum() == pytest.approx(317.7 * 9.81, rel=0.05)


def test_a_drawbar_slows_a_rover_and_a_payload_presses_it_into_the_soil(juno_rig):
    loaded = replace(juno_rig, payload=CubePayload(60.0, (0.0, 0.0, 0.6)), drawbar=Drawbar((-150.0, 0.0, 0.0)))
    ends = []
    for rig in (juno_rig, loaded):
        plant = Plant(rig, np.random.default_rng(1))
        plant.set_drives((0.4,) * 4, False)
        for tick in range(1, 16):
            plant.advance(tick * S // 10)
        ends.append(plant._state)
    free, pulled = ends
    assert pulled.ground.vertical.sum() - free.ground.vertical.sum() == pytest.approx(60.0 * 9.81, rel=0.1)
    assert pulled.ground.pull.sum() - free.ground.pull.sum() == pytest.approx(150.0, rel=0.15)
    assert pulled.ground.slip.min() > free.ground.slip.max()


def test_an_obstacle_before_wheels_at_several_heights_is_refused():
    rig = nominal_rig(load_config("sim_impact"))
    rig = replace(rig, ground=replace(rig.ground, wheel_height=(0.1,) * 6))
    with pytest.raises(ValueError, match=r"wheel_height is .*, allowed with an obstacle: 0"):
        rig.build()
