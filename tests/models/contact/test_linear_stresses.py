"""Xu's whole wheel under a rover: steady driving, standing, braking, reverse, and its energy."""

import math
from typing import Any

import numpy as np
import pytest

from models.actuators.drive import Drive
from models.contact.ground import Ground
from models.contact.linear_stresses import LinearStresses
from models.kernels.bound import BoundArguments
from models.rover import xu
from models.rover.rover import Rover
from models.vehicle import VehicleModel, VehicleState, make_vehicle_state
from models.vehicle.energy import EnergyMeter
from models.vehicle.step import Scene, run_bound
from models.wheel import RigidWheel, Soil

DT, MARS = 1e-4, 3.72
SOIL = Soil(1e6, 1.0, cohesion=300.0, friction_angle=math.radians(30.0), rebound=0.1, slip_modulus=0.2,
            shear_modulus=0.01, peak_offset=0.4, peak_slope=0.15, lateral_rate=3.0)  # fmt: skip
DRIVE = Drive(
    gain=200.0, integral_gain=2000.0, torque_limit=60.0, gear_friction=50.0, friction_speed=1e-4,
    coast_damping=0.5, brake_damping=40.0, brakes_on_cut=0.0,
)  # fmt: skip


class Stand:
    """His rover, its wheels of a uniform cylinder's inertia, on level soil or on a slope by a turned weight."""

    def __init__(self) -> None:
        self.rover: Rover = xu(wheel_inertia=0.041)
        mount = self.rover.tree.wheels[0]
        self.wheel = RigidWheel(mount.radius, mount.width, SOIL, "xu")

    def vehicle(self, pitch: float = 0.0, roll: float = 0.0, gear_friction: float = 50.0) -> VehicleModel:
        ground = Ground(
            np.array(self.wheel.parameters), 2.0, 0.02, 0.01, 0.005, linear=LinearStresses(path=0.01, retardation=0.005)
        )
        weight = MARS * np.array(
            [-math.sin(pitch), -math.sin(roll), -math.sqrt(1 - math.sin(pitch) ** 2 - math.sin(roll) ** 2)]
        )
        return VehicleModel(self.rover.chain, ground, DRIVE._replace(gear_friction=gear_friction), None, weight)

    def put_down(self, where: VehicleModel) -> tuple[VehicleState, EnergyMeter]:
        """At rest with axles held, and the meter of its energies."""
        state = make_vehicle_state(self.rover)
        state.drives.cut[:] = 0.0
        meter = EnergyMeter(self.rover, where, state)
        self.run(where, state, meter, 20000)
        return state, meter

    @staticmethod
    def run(where: VehicleModel, state: VehicleState, meter: EnergyMeter, steps: int, dt: float = DT) -> None:
        run_bound(BoundArguments(Scene(where, state, meter.ledger)), steps, dt)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stand() -> Stand:
    return Stand()


def test_a_rover_in_steady_drive_has_the_forces_of_the_direct_integrals(stand: Stand) -> None:
    where = stand.vehicle(gear_friction=1.0)
    for speed in (0.1, -0.1):
        state, meter = stand.put_down(where)
        state.drives.set_speed[:] = speed / stand.wheel.radius
        stand.run(where, state, meter, 40000)
        ground, sign = state.ground, math.copysign(1.0, speed)
        slip = sign * ground.slip
        assert (slip > 0.005).all()
        longitudinal, vertical, _ = stand.wheel.forces(ground.sinkage, slip)
        # what is left of the sinkage's rate, times the damping
        assert sign * ground.pull == pytest.approx(longitudinal, abs=6e-3)
        assert ground.vertical == pytest.approx(vertical, rel=2e-4)
        assert ground.vertical.sum() == pytest.approx(MARS * stand.rover.mass, rel=1e-3)


@pytest.mark.parametrize("slope", [{"pitch": 0.25}, {"pitch": -0.15}, {"roll": 0.2}])
def test_a_rover_stands_on_a_slope(stand: Stand, slope: dict[str, float]) -> None:
    where = stand.vehicle(**slope)
    state, meter = stand.put_down(where)
    before = state.q[:3].copy()
    stand.run(where, state, meter, 20000)
    assert np.linalg.norm(state.q[:3] - before) < 5e-4
    assert np.abs(state.v).max() < 3e-4
    assert np.abs(state.ground.shear).max() > 1e-3  # the sheared soil holds it


def test_a_wheel_off_the_ground_has_no_force_and_forgets_its_shear(stand: Stand) -> None:
    where = stand.vehicle(pitch=0.25)
    state, meter = stand.put_down(where)
    assert state.ground.shear.any()
    state.q[2] += 0.5
    stand.run(where, state, meter, 1)
    for reading in (state.ground.shear, state.ground.vertical, state.ground.pull, state.ground.slip):
        assert not reading.any()


def test_no_energy_comes_from_the_soil_in_driving_braking_reverse_and_a_turn(stand: Stand) -> None:
    """What the soil has taken never falls by more than its shear can store: the limit times the path, a wheel each."""
    where = stand.vehicle(gear_friction=1.0)
    state, meter = stand.put_down(where)
    start = meter.read()
    taken, given = 0.0, 0.0
    plan: list[Any] = [0.67, -0.67, 0.0, 0.4, -0.05, [0.67, -0.67] * 3, 0.0]
    for speed in plan:
        state.drives.set_speed[:] = speed
        for _ in range(20):
            stand.run(where, state, meter, 500)
            now = meter.read()
            given = max(given, taken - now.ground_loss)
            taken = max(taken, now.ground_loss)
    assert taken > 20.0
    assert given < 6 * 60.0 * 0.01
    assert abs(meter.read().residue(start)) < 1e-4 * taken


def test_a_quarter_of_the_step_gives_the_same_motion(stand: Stand) -> None:
    where, places = stand.vehicle(gear_friction=1.0), []
    for parts in (1, 4):
        state, meter = stand.put_down(where)
        for speed in (0.67, -0.3, 0.0):
            state.drives.set_speed[:] = speed
            stand.run(where, state, meter, 5000 * parts, DT / parts)
        places.append(state.q[:3].copy())
    assert places[0] == pytest.approx(places[1], abs=2e-5)
