"""The filter of the soil: its forward model, what it tells, what it leaves alone, and how sure it says that it is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.analysis.identification.forward import WheelSize, wheel_state
from hil.estimation.soil.soil_filter import (
    LOAD_GAIN,
    MOST_DEVIATIONS,
    PULL_GAIN,
    PULL_ZERO,
    RESTART_AFTER,
    SOIL,
    STATES,
    TORQUE_GAIN,
    drive,
    make_filter,
    make_wheels,
    set_soil,
    update,
)
from hil.messages.layout import SOIL_PARAMETERS
from models.kernels.bound import BoundArguments
from models.wheel import RigidWheel, Soil

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

RADIUS, WIDTH, SPEED, WAY = 0.175, 0.15, 0.05, 0.002
SAND = Soil(1.783e6, 0.75, friction_angle=math.radians(30), rebound=0.07, slip_modulus=0.185)
LOADS, SLIPS = np.array([120.0, 160.0, 210.0, 0.0]), np.array([0.1, 0.2, 0.4, 0.3])


def wheels_on(soil, slip_speed=1e-9):
    found = make_wheels(np.asarray(RigidWheel(RADIUS, WIDTH, soil).parameters), LOADS.size, slip_speed)
    found.load[:], found.slip[:] = LOADS, SLIPS
    return found


def changed(logs):
    """The sand with its parameters changed by logs."""
    values = {name: getattr(SAND, name) * math.exp(one) for name, one in zip(SOIL_PARAMETERS, logs, strict=True)}
    return replace(SAND, **values)


class Driven:
    """A filter at a rover on another soil than its own, with errors of one drive.

    Args:
        logs: of the true over the assumed parameters.
        seed: of the errors; None: none.
        shear: as `Soil` takes it.
    """

    def __init__(self, logs=(0.0, 0.0, 0.0), seed=None, **shear):
        soil = replace(SAND, **shear)
        self.true = wheels_on(replace(changed(logs), **shear))
        spread = np.array([0.3, 0.3, 0.3, 0.025, 0.005, 1.0, 0.025])
        prior = np.array([*np.log([getattr(soil, name) for name in SOIL_PARAMETERS]), 0.0, 0.0, 0.0, 0.0])
        self.logs = np.array(logs)
        self.filter = make_filter(wheels_on(soil), prior, spread, RADIUS, 20.0, 0.1, 0.01)
        self.bound = BoundArguments(self.filter)
        self.random = None if seed is None else np.random.default_rng(seed)
        self.shared = np.zeros(STATES) if seed is None else spread * self.random.standard_normal(STATES)
        self.true.load[:] = LOADS * (1.0 + self.shared[LOAD_GAIN])

    def step(self, *, pull=True, torque=True, off_N=0.0, slip=None):
        """One measurement; returns whether it was used."""
        if slip is not None:
            self.true.slip[:] = self.filter.wheels.slip[:] = slip
        drive(self.true, SPEED, 1.0)
        ahead, turning = self.true.found
        if self.random is not None:  # what the model leaves: 1 % of the load, the same over 0.1 m
            own = 0.01 * LOADS.sum() * math.sqrt(0.1 / WAY) * self.random.standard_normal(2)
            ahead, turning = ahead + own[0], turning + RADIUS * own[1]
        measured = (1.0 + self.shared[PULL_GAIN]) * ahead + self.shared[PULL_ZERO] + off_N
        moment = (1.0 + self.shared[TORQUE_GAIN]) * turning
        unknown = math.nan
        self.filter.measured[:] = SPEED, measured if pull else unknown, 0.0, moment if torque else unknown, 0.001
        return update(self.bound, WAY, WAY, 1.0)

    @property
    def error(self):
        return self.filter.x[:SOIL] - self.filter.prior[:SOIL] - self.logs

    @property
    def sd(self):
        return np.sqrt(np.diag(self.filter.covariance)[:SOIL])


@pytest.mark.parametrize("shear", [{}, {"shear": "oida", "shear_residual": 0.6}])
@pytest.mark.parametrize("logs", [(0.0, 0.0, 0.0), (0.4, -0.5, 0.3), (-0.6, 1.5, -0.4)])
def test_forces_on_a_soil_that_is_set_are_those_of_a_wheel_made_on_it(logs, shear):
    soil = replace(changed(logs), **shear)
    found = wheels_on(replace(SAND, **shear))
    set_soil(found, soil.stiffness, soil.rebound, soil.slip_modulus)
    drive(found, SPEED, 1.0)
    size = WheelSize(RADIUS, WIDTH, **({"shear": "oida", "shear_residual": 0.6} if shear else {}))
    ahead, torque, depth = wheel_state(size, soil, LOADS[:3], SLIPS[:3])
    assert found.found == pytest.approx([ahead.sum(), torque.sum()], rel=1e-9)
    assert found.depth[:3] == pytest.approx(depth, rel=1e-9)


def test_compaction_resistance_fades_at_low_speed_as_in_the_plant():
    fast, slow = wheels_on(SAND), wheels_on(SAND, slip_speed=0.05)
    drive(fast, SPEED, 1.0)
    drive(slow, SPEED, 1.0)
    assert slow.found[0] > fast.found[0] + 0.2
    assert slow.found[1] == pytest.approx(fast.found[1], rel=0.02)


def test_a_drive_tells_the_slip_modulus_and_leaves_the_rest_near_where_it_was():
    driven = Driven((0.3, -0.3, 0.3))
    for _ in range(600):
        assert driven.step()
    assert driven.error[2] == pytest.approx(0.0, abs=0.06)
    assert driven.sd[2] < 0.1
    assert driven.sd[1] > 0.27
    assert abs(driven.filter.x[1] - driven.filter.prior[1]) < 0.1


def test_intervals_hold_the_truth_as_often_as_they_claim():
    held = []
    for seed in range(40):
        driven = Driven(0.3 * np.random.default_rng([seed, 1]).standard_normal(3), seed)
        for _ in range(150):
            driven.step()
        held.append(np.abs(driven.error) <= 1.96 * driven.sd)
    # of 40 with 95 %: fewer than 33 come by chance once in 2000
    assert (np.sum(held, axis=0) >= 33).all()


def test_pull_alone_tells_less_and_torque_alone_tells_the_slip_modulus():
    both, pull, torque = Driven((0.0, 0.0, 0.3)), Driven((0.0, 0.0, 0.3)), Driven((0.0, 0.0, 0.3))
    for _ in range(300):
        assert both.step()
        assert pull.step(torque=False)
        assert torque.step(pull=False)
    assert both.sd[2] < pull.sd[2] < 0.3
    assert both.sd[2] <= torque.sd[2] < 0.15
    assert pull.filter.innovation[0] >= 0.0


def test_nothing_measured_is_nothing_used_and_leaves_no_nan():
    driven = Driven()
    assert not driven.step(pull=False, torque=False)
    assert np.isfinite(driven.filter.x).all()
    assert driven.sd == pytest.approx([0.3] * 3)


def test_what_is_not_measured_any_more_fades_back_to_the_config():
    driven = Driven((0.0, 0.0, 0.3))
    for _ in range(300):
        driven.step()
    found = driven.filter.x[2] - driven.filter.prior[2]
    driven.filter.measured[1] = driven.filter.measured[3] = math.nan
    update(driven.bound, 20.0, WAY, 1.0)
    assert driven.filter.x[2] - driven.filter.prior[2] == pytest.approx(found * math.exp(-1.0))
    assert 0.2 < driven.sd[2] < 0.3


def test_an_outlier_is_rejected_and_another_soil_begins_the_filter_anew():
    driven = Driven()
    for _ in range(100):
        driven.step()
    before = driven.filter.x.copy()
    assert not driven.step(off_N=2000.0)
    assert driven.filter.x == pytest.approx(before, abs=1e-3)
    assert driven.step()
    for _ in range(RESTART_AFTER):
        assert not driven.step(off_N=2000.0)
    assert driven.sd == pytest.approx([0.3] * 3)
    assert driven.filter.counts[2] == 1.0


def test_no_measurement_moves_a_parameter_out_of_its_range():
    driven = Driven()
    driven.filter.spread[:SOIL] = 0.02
    for off_N in np.linspace(0.0, -300.0, 200):
        driven.step(off_N=off_N)
        assert np.abs(driven.filter.x[:SOIL] - driven.filter.prior[:SOIL]).max() <= MOST_DEVIATIONS * 0.02 + 1e-12
        assert math.exp(driven.filter.x[1]) <= 1.0
    assert np.isfinite(driven.filter.covariance).all()
