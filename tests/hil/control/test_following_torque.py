"""A loop on torque: duties that give the torque, one loop a motor or one for all, limits, and what it begins with."""

from __future__ import annotations

import math

import pytest

from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.control.following import FollowingTorque, duty_of, moved_inertia, torque_at
from hil.messages.stages import Estimate, Goal, ObserverOutput, Prediction

NAN4 = (math.nan,) * 4
GAINS = "follow.torque={begin_Nm: 50, gain: 20, integral_gain: 100, limit_Nm: 200}"
MOTOR = ("drives.motor.stall_torque_Nm=500", "drives.motor.no_load_radps=2", GAINS)
CONFIG = load_config("sim_follow", [*MOTOR, "follow.quantity=wheel_speed"])
RADIUS_M, RATE_HZ = CONFIG.wheel_radius_m, CONFIG.loop.rate_hz


def torques(controller, wanted_radps, speeds, v_radps=0.0, ticks=1, source=1, *, cut=False):
    """Of the motors, as their duty and speed give them."""
    observed = ObserverOutput(0.001, NAN4, NAN4, NAN4, (0.0,) * 6, (), (0.0, 0.0, -1.0), 0.0, 0.0, (1.0,), (source,))
    seen = Prediction(NAN4, NAN4, NAN4, v_radps * RADIUS_M, 0.0, math.inf, True, observed=observed)
    estimate = Estimate(True, (), (), True, False, None, (), (0.0, 0.0), speeds)
    for _ in range(ticks):
        found = controller.control(Goal(2, cut, wanted_radps * RADIUS_M), None, estimate, seen)
    motor = controller._motor
    return [torque_at(motor, *pair) for pair in zip(found.duty, speeds, strict=bool(found.duty))]


def test_a_duty_gives_the_torque_that_was_wanted_and_is_never_a_cut():
    motor = CONFIG.drives.axle_motor
    assert torque_at(motor, duty_of(motor, 80.0, 0.6), 0.6) == pytest.approx(80.0)
    assert duty_of(motor, 1e4, 0.0) == 1.0
    assert abs(duty_of(motor, 0.0, 0.0)) == 1e-3


def test_each_motor_has_a_loop_on_the_speed_of_its_wheel():
    found = torques(FollowingTorque(Rig(CONFIG)), 0.5, (0.5, 0.4, 0.6, 0.5))
    assert found == pytest.approx([50.0, 52.0, 48.0, 50.0], abs=1e-9)


def test_a_forward_speed_gives_all_motors_one_torque_which_stays_while_no_reading_is_used():
    controller = FollowingTorque(Rig(load_config("sim_follow", MOTOR)))
    speeds = (0.6, 0.5, 0.5, 0.5)
    assert torques(controller, 0.5, speeds, v_radps=0.4) == pytest.approx([52.0] * 4)
    assert torques(controller, 0.5, speeds, v_radps=0.0, ticks=500, source=4) == pytest.approx([52.0] * 4)


def test_the_integral_grows_by_its_gain_and_stands_still_at_the_limit():
    controller = FollowingTorque(Rig(CONFIG))
    still = (0.0,) * 4
    assert torques(controller, 0.5, still, ticks=RATE_HZ)[0] == pytest.approx(50.0 + 10.0 + 50.0, abs=0.1)
    assert torques(controller, 0.5, still, ticks=5 * RATE_HZ) == pytest.approx([200.0] * 4)
    backwards = torques(controller, 0.0, (0.5,) * 4)  # at once: what did not wind up
    assert backwards[0] < 190.0 + 1e-9


def test_no_more_is_asked_of_a_motor_than_it_gives_at_its_speed():
    found = torques(FollowingTorque(Rig(CONFIG)), 9.0, (1.8, 0.0, 0.0, 0.0))
    assert found == pytest.approx([50.0, 200.0, 200.0, 200.0])


def test_after_a_cut_it_begins_again():
    controller = FollowingTorque(Rig(CONFIG))
    torques(controller, 0.5, (0.0,) * 4, ticks=100)
    assert torques(controller, 0.5, (0.0,) * 4, cut=True) == []
    assert torques(controller, 0.5, (0.5,) * 4) == pytest.approx([50.0] * 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["follow.quantity=throttle"], r"follow\.full_duty_mps: found null; allowed: the rims' speed"),
        ([GAINS, "follow.full_duty_mps=0.3"], r"follow\.full_duty_mps: found 0\.3; allowed: null with follow\.torque"),
        ([GAINS, "follow.quantity=slip"], r"follow\.quantity: found slip; allowed: wheel_speed or forward_speed"),
        (["follow.torque={begin_Nm: 300, limit_Nm: 200}"], r"follow\.torque\.begin_Nm: found 300; allowed: at most"),
    ],
)
def test_what_does_not_go_together_is_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        load_config("sim_follow", given)


SIZES = "wheel.of={front: {radius_m: 0.279}, rear: {radius_m: 0.24}}"


def test_the_rims_of_wheels_of_several_sizes_are_driven_at_one_speed():
    config = load_config("sim_follow", [*MOTOR, "follow.quantity=wheel_speed", SIZES])
    assert len(set(config.wheel_radii_m)) == 2
    at_speed = tuple(0.1 / radius_m for radius_m in config.wheel_radii_m)
    found = torques(FollowingTorque(Rig(config)), 0.1 / RADIUS_M, at_speed)  # no error, so the torque at the begin
    assert found == pytest.approx([50.0] * 4, abs=1e-9)


def test_what_a_motor_moves_follows_from_the_radius_of_its_wheel():
    rig = Rig(load_config("sim_follow", [*MOTOR, SIZES]))
    rover, radii_m = rig.nominal.make_rover(), rig.config.wheel_radii_m
    mass = sum(body.mass for body in rover.tree.bodies)
    push_N = sum(1.0 / radius_m for radius_m in radii_m)  # of 1 N m on each
    of_wheels = moved_inertia(Rig(load_config("sim_follow", [*MOTOR, SIZES, "follow.quantity=wheel_speed"])))
    assert moved_inertia(rig) - of_wheels == pytest.approx(mass * radii_m[0] / push_N)
