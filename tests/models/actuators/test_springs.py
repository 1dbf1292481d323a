"""Springs of joints: frequency and decay of an oscillator, stability at any stiffness, and the energy accounted for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.actuators.drive import Drive
from models.actuators.springs import make_springs
from models.impact import compliant_effective_kinetic_energy
from models.kernels.bound import BoundArguments
from models.rover import Body, Joint, Rover, rcp
from models.rover.arm_names import JOINTS
from models.rover.flexible import with_flexible_legs
from models.rover.space_arm import SpaceArm
from models.rover.tree import Tree
from models.vehicle import RAILS, Scene, VehicleModel, make_vehicle_state, run_bound
from models.vehicle.energy import EnergyMeter

pytestmark = pytest.mark.slow  # a step of its own is compiled

FLOATING = np.zeros(3)
IDLE = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
MASS, STIFFNESS = 2.0, 800.0


def floating(rover):
    """A rover in free flight, on which nothing but its springs acts; rails that hold nothing."""
    return VehicleModel(rover.chain, None, IDLE, None, FLOATING, rails=RAILS[:0], springs=make_springs(rover))


def oscillator(stiffness: float = STIFFNESS, damping: float = 0.0) -> Rover:
    """A mass on a spring, on a base that hardly moves."""
    bodies = (Body("base", 1e9, (0, 0, 0), (1e9, 1e9, 1e9)), Body("bob", MASS, (0, 0, 0), (0.1, 0.1, 0.1)))
    joint = Joint("bob_way", "base", "bob", (0, 0, 0), (1.0, 0, 0), slides=True, stiffness=stiffness, damping=damping)
    return Rover(Tree("oscillator", bodies, (joint,), ()))


def swing(rover: Rover, dt: float, steps: int) -> np.ndarray:
    """Way of the mass, let go at 0.1 m; each row after one more step."""
    vehicle, state = floating(rover), make_vehicle_state(rover)
    state.q[7] = 0.1
    meter, ways = EnergyMeter(rover, vehicle, state), []
    scene = BoundArguments(Scene(vehicle, state, meter.ledger))
    for _ in range(steps):
        run_bound(scene, 1, dt)
        ways.append(float(state.q[7]))
    return np.array(ways)


def test_a_rover_without_springs_has_none():
    assert make_springs(rcp()) is None


def test_a_mass_swings_at_its_frequency_and_loses_nothing():
    dt = 1e-3
    ways = swing(oscillator(), dt, 1500)
    times = dt * np.arange(1, 1501)
    exact = 0.1 * np.cos(math.sqrt(STIFFNESS / MASS) * times)
    assert ways == pytest.approx(exact, abs=0.1 * 0.015)  # half a step of phase, order dt
    assert ways[-400:].max() == pytest.approx(0.1, rel=1e-3)


def test_a_damped_one_decays_as_it_should():
    ratio = 0.05
    dt = 5e-4
    ways = swing(oscillator(damping=2.0 * ratio * math.sqrt(STIFFNESS * MASS)), dt, 650)
    period = 2.0 * math.pi / math.sqrt(STIFFNESS / MASS) / math.sqrt(1.0 - ratio**2)
    last = ways[round(0.8 * period / dt) :].max()
    assert last == pytest.approx(0.1 * math.exp(-2.0 * math.pi * ratio / math.sqrt(1.0 - ratio**2)), rel=0.01)


def test_a_spring_too_stiff_for_the_step_is_stable_and_its_amplitude_bounded_as_documented():
    dt, turn = 1e-2, 4.0  # an explicit step grows beyond omega dt = 2
    ways = np.abs(swing(oscillator(stiffness=MASS * (turn / dt) ** 2), dt, 2000))
    assert ways.max() <= 0.1 * math.sqrt(1.0 + 0.25 * turn**2) * (1.0 + 1e-3)


def test_a_free_arm_whose_booms_swing_keeps_its_energy_but_for_the_damping_and_its_momentum():
    arm = SpaceArm(spacecraft_mass=2000.0, spacecraft_size=(3.0, 2.0, 2.0))
    rover = arm.build()
    vehicle, state = floating(rover), make_vehicle_state(rover)
    q, v = rover.neutral(), np.zeros(rover.nv)
    for name, angle in zip(JOINTS, (0.7, -1.2, 0.4), strict=True):
        q[7 + rover.joint_names.index(name)] = angle
    v[:6], v[6 + rover.joint_names.index("upper_1_bend")] = (0.02, 0.01, -0.03, 0.01, -0.02, 0.02), 0.05
    state.q[:], state.v[:] = rover.tree_configuration(q), rover.tree_speeds(v)
    meter = EnergyMeter(rover, vehicle, state)
    first, momentum = meter.read(), world_momentum(rover, state)
    run_bound(BoundArguments(Scene(vehicle, state, meter.ledger)), 2000, 1e-3)
    last = meter.read()
    assert last.spring_loss > 1e-3
    assert abs(last.residue(first)) < 0.1 * last.spring_loss
    assert world_momentum(rover, state) == pytest.approx(momentum, rel=1e-4, abs=1e-2)


def world_momentum(rover, state):
    """Linear momentum from the mass matrix' first rows, turned into the world."""
    q, v = rover.own_configuration(state.q), rover.own_speeds(state.v)
    x, y, z, w = q[3:7]
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return turn @ (rover.mass_matrix(q)[:3] @ v)


@pytest.mark.ci_cases("60.0")
@pytest.mark.parametrize("angle_deg", [30.0, 60.0, 90.0])
def test_flexible_legs_take_from_the_first_hit_what_their_modes_say(angle_deg):
    """T_c with the legs as springs lies between that of the rigid rover and that of a rover with slack legs."""
    spring = 200.0 / 0.004
    rover = Rover(with_flexible_legs(rcp().tree, ((1.0, 0.0, 0.0), spring, 0.0), ((0.0, 0.0, 1.0), spring, 0.0)))
    joints = {joint.name: joint for joint in rover.tree.joints}
    stiffness = np.array([0.0] * 6 + [joints[name].stiffness for name in rover.joint_names])
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = 0.07
    M, J = rover.mass_matrix(q), rover.impact_jacobian(q, math.radians(angle_deg))
    energies = [
        compliant_effective_kinetic_energy(M, J, v, factor * stiffness, 1e6).energy for factor in (1e4, 1.0, 1e-4)
    ]
    assert energies[0] > energies[1] > energies[2]


@pytest.mark.parametrize("key", ["stiffness", "damping"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_spring_that_cannot_be_is_refused(key, value):
    with pytest.raises(ValueError, match=rf"joint j: {key} is {value}, allowed: 0 or more"):
        Joint("j", "a", "b", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), **{key: value})
