"""Friction that holds, on firm ground without a profile and on the plate, against statics and a sliding block."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.actuators.drive import Drive
from models.contact.compliant import make_compliant_ground
from models.contact.friction import make_bristles
from models.contact.laws import make_law
from models.contact.obstacle import Obstacle
from models.gravity import GRAVITY_MPS2
from models.kernels.bound import BoundArguments
from models.rover import rcp
from models.terrain import slope_of
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.step import Scene, run_bound

pytestmark = pytest.mark.slow  # kernels of their own

STEP_S = 2e-4
ROVER = rcp()
GRAVITY = np.array((0.0, 0.0, -GRAVITY_MPS2))
WEIGHT_N = float(ROVER.mass_matrix(ROVER.neutral())[0, 0]) * GRAVITY_MPS2
FRONT_X_M = float(ROVER.wheel_positions(ROVER.neutral())[:, 0].max())
RADIUS_M = float(ROVER.chain.wheel_radius[0])
LAW = make_law("kelvin_voigt", 1e6, damping=5e3)
BRISTLES = make_bristles(8e5, 4e3)
# It holds its wheels, whatever that takes.
DRIVE = Drive(2000.0, 20000.0, 5000.0, 0.0, 0.01, 0.0, 0.0, 0.0)


class Stand:
    """A rover whose drives hold its wheels, put down on a slope of firm ground or on the plate."""

    def __init__(self, friction, *, pitch_deg=0.0, roll_deg=0.0, obstacle=None, bristles=BRISTLES):
        ground = make_compliant_ground(LAW, friction, bristles=bristles)
        terrain = slope_of(math.radians(pitch_deg), math.radians(roll_deg))
        self.state = make_vehicle_state(ROVER)
        self.state.drives.cut[:] = 0.0
        vehicle = VehicleModel(ROVER.chain, None, DRIVE, obstacle, GRAVITY, ground, terrain=terrain)
        self._scene = BoundArguments(Scene(vehicle, self.state))
        # along the slope: pitched nose up as the ground rises ahead, then rolled as it rises to port
        pitch, roll = math.radians(pitch_deg), math.radians(roll_deg)
        self.state.q[3:7] = math.sin(0.5 * roll), -math.sin(0.5 * pitch), 0.0, math.cos(0.5 * (pitch or roll))

    def run(self, seconds):
        run_bound(self._scene, round(seconds / STEP_S), STEP_S)

    @property
    def place(self):
        return self.state.q[:3].copy()

    def moved(self, seconds):
        before = self.place
        self.run(seconds)
        return float(np.linalg.norm(self.place - before))


SLOPES = {"ahead": {"pitch_deg": 15.0}, "across": {"roll_deg": 12.0}}


@pytest.mark.parametrize("slope", SLOPES.values(), ids=SLOPES)
def test_a_rover_on_a_slope_below_the_limit_of_friction_does_not_creep(slope):
    limit = math.tan(math.radians(max(slope.values())))
    held, creeping = Stand(1.3 * limit, **slope), Stand(1.3 * limit, **slope, bristles=None)
    for one in (held, creeping):
        one.run(2.0)
    assert held.moved(1.0) < 1e-7
    # in proportion to the sliding speed, below friction_speed: by the share of the limit that the slope asks for
    assert creeping.moved(1.0) == pytest.approx(0.005 / 1.3, rel=0.02)


def test_its_wheels_bear_what_pulls_it_down_the_slope():
    stand = Stand(0.6, **SLOPES["ahead"])
    stand.run(2.0)
    along = WEIGHT_N * math.sin(math.radians(15.0))
    assert stand.state.ground.pull.sum() == pytest.approx(along, rel=1e-3)
    # each bristle holds by its stretch
    assert BRISTLES.stiffness * -stand.state.ground.shear[:, 0] == pytest.approx(stand.state.ground.pull, rel=1e-3)


def test_above_the_limit_it_slides_as_a_block_does():
    stand, angle = Stand(0.15, **SLOPES["ahead"]), math.radians(15.0)
    stand.run(0.5)
    before = np.linalg.norm(stand.state.v[:3])
    stand.run(0.5)
    gained = np.linalg.norm(stand.state.v[:3]) - before
    assert gained == pytest.approx(0.5 * GRAVITY_MPS2 * (math.sin(angle) - 0.15 * math.cos(angle)), rel=0.01)


RAMP_DEG = 10.0


def on_the_ramp(bristles):
    """A rover whose front wheels stand on the plate and the others on ground without friction."""
    angle = math.radians(RAMP_DEG)
    foot = FRONT_X_M - 0.15
    plate = Obstacle(angle, foot, 1e6, 1.0, 0.5, 0.5, 0.005, bristles=bristles)
    stand = Stand(0.0, obstacle=plate)
    stand.state.q[2] += 0.15 * math.tan(angle) + 1e-3  # above both, and let down
    stand.run(3.0)
    return stand


def test_front_wheels_on_the_plate_hold_the_whole_rover_by_friction():
    held, creeping = on_the_ramp(BRISTLES), on_the_ramp(None)
    contact, tangent = held.state.obstacle, math.tan(math.radians(RAMP_DEG))
    assert contact.force.min() > 50.0
    # nothing else pushes the rover ahead or back: N sin = T cos
    assert contact.drag.sum() == pytest.approx(-contact.force.sum() * tangent, rel=1e-3)
    assert held.moved(1.0) < 1e-7
    assert creeping.moved(1.0) > 1e-3


@pytest.mark.parametrize("given", [(0.0, 1.0), (math.nan, 1.0), (1.0, -1.0)])
def test_bristles_out_of_range_are_refused(given):
    with pytest.raises(ValueError, match=r"friction that holds: (stiffness|damping) is .*, allowed: a finite number"):
        make_bristles(*given)
