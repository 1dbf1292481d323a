"""Xu's acceleration-level unilateral contact, (33)-(42), beside our velocity-level one on rigid ground."""

import numpy as np
import pytest

from models.contact.constraints import make_rigid_ground
from models.plant.parameters import OFF
from models.rover import xu
from models.rover.rover import Rover
from models.vehicle import VehicleModel, make_vehicle_state, run
from models.vehicle.model import VehicleState
from references.axis_chain import AxisChain
from references.unilateral_contact import accelerations, motion, normal_rows

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

MARS = (0.0, 0.0, -3.72)
DT = 1e-4


class Stand:
    """His rover on level rigid ground without friction."""

    def __init__(self) -> None:
        self.rover: Rover = xu(wheel_inertia=0.041)
        self.chain = AxisChain(self.rover.tree, self.rover.joint_names)
        self.wheels = [wheel.body for wheel in self.rover.tree.wheels]
        self.vehicle = VehicleModel(
            self.rover.chain, None, OFF, None, np.array(MARS), None, make_rigid_ground(self.rover)
        )

    def state(self, v: np.ndarray, torque: dict[str, float]) -> VehicleState:
        state = make_vehicle_state(self.rover)
        state.v[:] = self.rover.tree_speeds(v)
        for name, value in torque.items():
            state.torque[6 + self.rover.tree_joint_names.index(name)] = value
        return state

    def at_once(self, v: np.ndarray, torque: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations and forces of the acceleration-level conditions, all wheels touching."""
        tau = np.zeros(self.rover.nv)
        for name, value in torque.items():
            tau[6 + self.rover.joint_names.index(name)] = value
        return accelerations(self.chain, self.wheels, self.rover.neutral(), v, tau, MARS)


@pytest.fixture(scope="module")
def stand() -> Stand:
    return Stand()


def sliding(rover: Rover) -> np.ndarray:
    """A velocity along the ground, with a turn."""
    v = np.zeros(rover.nv)
    v[0], v[1], v[5] = 0.3, -0.1, 0.4
    return v


@pytest.mark.parametrize(
    ("torque", "lifted"),
    [({}, 0), ({"left_bogie": 12.0, "right_bogie": -5.0}, 0), ({"left_bogie": 140.0}, 2), ({"left_rocker": -300.0}, 1)],
)
def test_both_give_one_acceleration_while_contacts_hold_and_as_some_open(stand, torque, lifted) -> None:
    v = sliding(stand.rover)
    acceleration, force = stand.at_once(v, torque)
    assert np.count_nonzero(force == 0.0) == lifted
    state = stand.state(v, torque)
    run(stand.vehicle, state, 1, DT)
    rounding = 1e-9 / DT
    assert np.abs((stand.rover.own_speeds(state.v) - v) / DT - acceleration).max() < rounding
    assert np.abs(state.ground.vertical - force).max() < rounding


def test_ours_tends_to_the_motion_by_accelerations_as_two_wheels_lift(stand) -> None:
    v, tau = sliding(stand.rover), np.zeros(stand.rover.nv)
    tau[6 + stand.rover.joint_names.index("left_bogie")] = 140.0
    radius = {wheel.body: wheel.radius for wheel in stand.rover.tree.wheels}
    q, later = motion(stand.chain, radius, stand.rover.neutral(), v, tau, MARS, 0.05, 2)
    errors = []
    for steps in (50, 500):
        state = stand.state(v, {"left_bogie": 140.0})
        run(stand.vehicle, state, steps, 0.05 / steps)
        assert np.count_nonzero(state.ground.vertical == 0.0) == 2
        speeds = np.abs(stand.rover.own_speeds(state.v) - later).max()
        errors.append(max(speeds, np.abs(stand.rover.own_configuration(state.q) - q).max()))
    assert errors[0] < 1e-3
    assert errors[1] < 0.12 * errors[0]


def test_weight_is_borne(stand) -> None:
    _, force = stand.at_once(np.zeros(stand.rover.nv), {})
    assert force.sum() == pytest.approx(3.72 * stand.rover.mass, rel=1e-9)


def test_at_touch_down_the_acceleration_level_lets_the_wheels_sink_on_where_ours_stop_them(stand) -> None:
    """(33) bounds the acceleration: a wheel that arrives at 0.1 m/s goes on at 0.1 m/s. It needs an impact law."""
    v = np.zeros(stand.rover.nv)
    v[2] = -0.1
    acceleration, force = stand.at_once(v, {})
    _, rows, drift = normal_rows(stand.chain, stand.wheels, stand.rover.neutral(), v)
    assert (force >= 0.0).all()
    assert np.abs(rows @ acceleration + drift).max() < 1e-9  # held at the speed of arrival
    assert rows @ v == pytest.approx([-0.1] * 6)
    state = stand.state(v, {})
    run(stand.vehicle, state, 1, 1e-4)
    assert np.abs(rows @ stand.rover.own_speeds(state.v)).max() < 1e-9  # a plastic impact
    assert state.ground.vertical.sum() * 1e-4 == pytest.approx(0.1 * stand.rover.mass, rel=0.01)
