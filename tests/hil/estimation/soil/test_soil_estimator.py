"""When the soil is estimated in a run, when it is left alone, and what the load control makes of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from drivers.messages import DriveSample, PowerSample, ValveSample
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.control.load_state import steady_loads
from hil.control.normal_force import load_controller
from hil.control.wheel_speed import DirectSetPoints
from hil.estimation.soil.soil_estimator import SoilEstimator
from hil.messages.loads import LoadGoal, LoadMode
from hil.messages.stages import SOIL_STATES, Estimate, ObserverOutput, Prediction, Samples

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

MS = 1_000_000
SPEED = 0.08
RIG = Rig(load_config("sim_soil_estimate", ["telemetry.endpoint=''"]))
RADIUS = RIG.config.wheel_radius_m
LOADS = (190.0, 180.0, 230.0, 215.0, 290.0, 270.0)


class Driving:
    """What the stages of a tick hand over while the rover drives steadily at slip 0.2."""

    def __init__(self, rig=RIG):
        self.estimator, self.t_ns, self.way_m, self.rims = SoilEstimator(rig), 0, 0.0, SPEED / RADIUS
        self.impact_ns, self.pull_N, self.source, self.slip_sd, self.ampere = None, 400.0, 1, 0.003, 25.0
        self.heading = 0.0

    def run(self, seconds):
        """Ticks of so long; returns the last estimate."""
        for _ in range(round(seconds * 100)):
            self.t_ns += 10 * MS
            self.way_m += 0.8 * self.rims * RADIUS * 0.01
            speeds = (self.rims,) * 6
            power = PowerSample(self.t_ns, (self.ampere,) * 6, (24.0,), (math.nan,))
            samples = Samples(
                self.t_ns, (), 0, 0, DriveSample(0, self.t_ns, speeds, -1, power=power), ValveSample(0, self.t_ns)
            )
            estimate = Estimate(
                zeroed=True, bias_V=(), noise_V=(), finite=True, saturated=False, impact_ns=self.impact_ns, force_N=(),
                load_point_m=(math.nan, math.nan), wheel_speed_radps=speeds, pull_N=(self.pull_N,),
            )  # fmt: skip
            observed = ObserverOutput(
                0.001, (self.slip_sd,) * 6, (0.001,) * 6, (5.0,) * 6, (0.01,) * 6, (), (0.0, 0.0, -1.0), 0.0, 0.0,
                (1.0,), (self.source,),
            )  # fmt: skip
            turned = math.sin(0.5 * self.heading), math.cos(0.5 * self.heading)
            prediction = Prediction(
                LOADS, (0.01,) * 6, (0.2,) * 6, 0.8 * self.rims * RADIUS, math.nan, math.inf, True,
                way_m=self.way_m, pose=(0.0, 0.0, 0.0, 0.0, 0.0, *turned), observed=observed,
            )  # fmt: skip
            found = self.estimator.estimate(samples, estimate, prediction)
        return found

    def state(self, seconds=0.2):
        return SOIL_STATES[self.run(seconds).state]


def test_a_steady_drive_is_used_and_tells_the_slip_modulus():
    driving = Driving()
    found = driving.run(4.0)
    assert SOIL_STATES[found.state] == "used"
    assert found.observable
    assert found.sd[2] < 0.15 < found.sd[1]
    assert all(-1.0 <= one <= 1.0 for one in found.correlation)


@pytest.mark.parametrize(
    ("what", "value", "state"),
    [
        ("rims", 0.0, "standing"),
        ("rims", -0.4, "standing"),
        ("impact_ns", 5, "impact"),
        ("source", 3, "unmeasured"),
        ("source", 4, "unmeasured"),
        ("slip_sd", 0.3, "unmeasured"),
        ("slip_sd", math.nan, "unmeasured"),
        ("heading", 0.2, "unsteady"),
    ],
)
def test_what_it_cannot_judge_leaves_the_estimate_as_it_is(what, value, state):
    driving = Driving()
    before = driving.run(2.0)
    setattr(driving, what, value)
    assert driving.state() == state
    after = driving.run(0.2)
    assert (after.value, after.sd) == (before.value, before.sd)


def test_a_change_of_speed_is_waited_out():
    driving = Driving()
    driving.run(2.0)
    driving.rims *= 1.2
    assert driving.state(0.3) == "unsteady"
    assert driving.state(0.5) == "used"


def test_without_currents_pull_alone_is_used_and_without_both_nothing():
    driving = Driving()
    driving.ampere = math.nan
    assert driving.state(2.0) == "used"
    driving.pull_N = math.nan
    assert driving.state() == "unmeasured"


def test_a_pull_out_of_all_reason_is_rejected():
    driving = Driving()
    driving.run(2.0)
    driving.pull_N = 5000.0
    assert driving.state() == "rejected"


def test_the_best_shares_follow_the_soil_and_stay_shares():
    steady = steady_loads(RIG)
    soil = [RIG.config.soil.stiffness, RIG.config.soil.rebound, RIG.config.soil.slip_modulus]
    assert steady.share_on(soil) == pytest.approx(steady.traction_share)
    other = Rig(RIG.config.replace({"soil": {"stiffness": 1.3 * soil[0]}}))
    near = steady.share_on([1.3 * soil[0], *soil[1:]])
    assert near == pytest.approx(steady_loads(other).traction_share, abs=5e-4)
    far = np.array(steady.share_on([soil[0] * 1e6, soil[1] * 1e-3, soil[2] * 1e3]))
    assert far.min() >= 0.0
    assert far.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_whatever_soil_is_estimated_wanted_loads_and_torques_stay_within_their_limits(factor):
    controller = load_controller(RIG, DirectSetPoints())
    allocator, limits = controller._allocator, RIG.config.normal_force
    soil = RIG.config.soil
    allocator.take_soil((soil.stiffness * factor, soil.rebound, soil.slip_modulus * factor))
    torque = (0.0, 0.0, 0.0)
    for _ in range(200):
        found = allocator.allocate(LOADS, torque, (0.0,) * 3, (0.0, 0.0, -1.0), LoadGoal(LoadMode.MAX_TRACTION))
        assert min(found.load_N) >= limits.least_load_N + limits.load_margin_N - 1e-6
        assert max(map(abs, found.torque_Nm)) <= limits.torque_limit_Nm * (1.0 + 1e-9)
        most = limits.torque_slew_Nmps * limits.period_ms * 1e-3
        assert max(abs(a - b) for a, b in zip(found.torque_Nm, torque, strict=True)) <= most * (1.0 + 1e-9)
        torque = found.torque_Nm


def test_an_estimate_that_tells_nothing_leaves_max_traction_at_the_soil_of_the_config():
    allocator = load_controller(RIG, DirectSetPoints())._allocator
    before = allocator._traction_share
    allocator.take_soil((1e5, 0.5, 0.5))
    assert allocator._traction_share != before
    allocator.take_soil(None)
    assert allocator._traction_share == before


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        (["motion=null"], "the instrument motion"),
        (["wheel.variant=tire_1"], "wheel.variant exact"),
        (["soil.rut=remembered"], "soil.rut fresh"),
        (["ground.kind=firm", "normal_force.steps=[{for_s: 1, mode: passive}]"], "ground.kind soil"),
        (["experiment=drawbar", "loads=null"], "a load cell"),
    ],
)
def test_a_rig_on_which_it_cannot_be_estimated_is_refused_in_words(settings, allowed):
    with pytest.raises(ConfigError) as caught:
        load_config("sim_soil_estimate", settings)
    found = [one.allowed for one in caught.value.problems if one.key.startswith("soil_estimation")]
    assert any(allowed in one for one in found), [(one.key, one.allowed) for one in caught.value.problems]


def test_without_the_section_neither_layout_nor_prediction_know_of_it():
    config = RIG.config.replace({"soil_estimation": None})
    assert config.layout.soil_parameters == ()
    assert replace(RIG.config.layout, soil_parameters=()) == config.layout
    assert steady_loads(Rig(config)).share_by_log.shape == (6, 0)
    assert steady_loads(Rig(config)).traction_share == steady_loads(RIG).traction_share
