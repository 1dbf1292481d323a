"""A driven rover that hits a step with much restitution: its impacts by Routh's path, its energy, and its rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.actuators.drive import Drive
from models.contact.cones import AXES
from models.contact.nonsmooth import make_hard_contacts
from models.contact.rebound import LAWS
from models.kernels.bound import BoundArguments
from models.rover import exomars
from models.rover.dynamics import make_work
from models.terrain.profile import NORMAL_Z, make_profile
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.ledger import motion_energy
from models.vehicle.step import Scene, run_bound
from references.impact_path import impact_path

GRAVITY, DT, FRICTION, RESTITUTION, STEP_M = 9.81, 1e-4, 0.8, 0.8, 0.1
DRIVE = Drive(
    gain=200.0, integral_gain=2000.0, torque_limit=40.0, gear_friction=0.3, friction_speed=0.02,
    coast_damping=0.5, brake_damping=40.0, brakes_on_cut=1.0,
)  # fmt: skip
ROVER = exomars(locks={"steering": 0.0})
RADIUS = float(ROVER.chain.wheel_radius[0])
FACE = float(ROVER.wheel_positions(ROVER.neutral())[0, 0]) + math.sqrt(RADIUS**2 - (RADIUS - STEP_M) ** 2) + 0.005


class AtTheStep:
    """It drives against the edge at 0.1 m/s, in steps of 0.1 ms, which are looked at one by one."""

    def __init__(self, law):
        points = [(-50.0, 0.0), (FACE, 0.0), (FACE, STEP_M), (50.0, STEP_M)]
        self.hard = make_hard_contacts(ROVER, make_profile(points, FRICTION, RESTITUTION), law=law)
        gravity = np.array((0.0, 0.0, -GRAVITY))
        self.vehicle = VehicleModel(ROVER.chain, None, DRIVE, None, gravity, hard=self.hard)
        self.state, self.work = make_vehicle_state(ROVER), make_work(ROVER.chain)
        self.state.drives.cut[:], self.state.drives.set_speed[:] = 0.0, 0.1 / RADIUS
        self.scene = BoundArguments(Scene(self.vehicle, self.state))

    def step(self):
        """How many contacts there were, and the velocity before."""
        before, self.hard.wheel[:] = self.state.v.copy(), -1
        run_bound(self.scene, 1, DT)
        return int((self.hard.wheel >= 0).sum()), before

    def contact_work(self, count, before):
        """Of all contacts in the newest step [J], by the mean of the velocities before and after it."""
        row = self.hard.row[: AXES * count]
        return float(self.hard.cones.impulse[: AXES * count] @ (row @ (0.5 * (before + self.state.v))))

    @property
    def energy(self):
        return sum(motion_energy(ROVER.chain, self.vehicle.gravity, self.state.q.copy(), self.state.v, self.work))


@pytest.mark.slow
def test_wheels_part_from_the_edge_as_poissons_law_says_along_the_path_and_faster_than_they_came():
    rover, ratios = AtTheStep("poisson"), {False: [], True: []}
    for _ in range(6000):
        count, before = rover.step()
        closing, place = rover.hard.rebound.closing[:2], rover.hard.place[:2, NORMAL_Z]
        if count != 2 or closing.min() < 1e-4 or abs(place[0] - place[1]) > 1e-9:
            continue
        # left and right wheel hit at once and alike: one contact in the plane
        W = rover.hard.cones.half[:6] @ rover.hard.cones.half[:6].T
        met = (rover.hard.row[:6] @ before)[:2]
        after = impact_path(W[:2, :2] + W[:2, 3:5], met, FRICTION, RESTITUTION)
        assert rover.hard.rebound.parted[:2] == pytest.approx(after, abs=3e-4 * -met[0])  # contacts give, 1e-6 of W
        ratios[bool(place[0] < 0.99)].append(-after[0] / met[0])
    assert rover.hard.residual[1] == 0.0
    at_edge, on_ground = np.array(ratios[True]), np.array(ratios[False])
    assert len(at_edge) > 20
    assert len(on_ground) > 200
    assert np.median(at_edge) > 1.0 > RESTITUTION


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS[1:])
def test_no_step_s_contacts_make_energy_though_the_drives_keep_the_wheels_bouncing(law):
    rover, most, summed = AtTheStep(law), 0.0, 0.0
    for _ in range(8000):
        work = rover.contact_work(*rover.step())
        most, summed = max(most, work), summed + work
    assert most < 1e-6
    assert summed < -1.0


@pytest.mark.ci_cases("newton")
@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_once_its_drives_are_cut_a_rover_that_bounces_at_the_step_comes_to_rest(law):
    rover = AtTheStep(law)
    run_bound(rover.scene, 6000, DT)
    rover.state.drives.cut[:] = 1.0
    energies = []
    for _ in range(60):
        energies.append(rover.energy)
        run_bound(rover.scene, 500, DT)
    assert np.abs(rover.state.v).max() < 1e-6
    assert np.diff(energies).max() < 1e-6
    assert energies[0] - energies[-1] > 0.01
