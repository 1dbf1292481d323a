"""A wheel drive on one axle of known inertia: speed control, limits, and motion after a cut."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from models.actuators.drive import Drive, Motor, check_drive, drive_axle, make_drives, wind_up
from models.rover import rcp
from models.rover.dynamics import make_work

INERTIA = 0.5  # kg m^2
DT = 1e-4
AXLE = 6  # any speed but a base one
FREE = Drive(
    gain=20.0, integral_gain=200.0, torque_limit=40.0, gear_friction=0.0, friction_speed=0.02,
    coast_damping=0.5, brake_damping=10.0, brakes_on_cut=0.0,
)  # fmt: skip
ROVER = rcp()


class Axle:
    """One drive turning one inertia under a load torque, advanced as models.vehicle advances a rover."""

    def __init__(self, drive: Drive, *, speed: float = 0.0, set_speed: float = 0.0, cut: bool = False) -> None:
        self.drive, self.state, self.work = drive, make_drives(6), make_work(ROVER.chain)
        self.v = np.zeros(ROVER.nv)
        self.v[AXLE] = speed
        self.state.cut[0], self.state.set_speed[0] = float(cut), set_speed

    @property
    def speed(self) -> float:
        return float(self.v[AXLE])

    def run(self, duration: float, load: float = 0.0, dt: float = DT):
        """Speeds and reported torques at every step."""
        speeds, torques = [], []
        for _ in range(round(duration / dt)):
            self.work.rhs[:], self.work.mass_matrix[:] = 0.0, 0.0
            self.work.rhs[AXLE], self.work.mass_matrix[AXLE, AXLE] = load, INERTIA
            drive_axle(self.drive, self.state, 0, AXLE, self.v, dt, self.work)
            self.v[AXLE] += dt * self.work.rhs[AXLE] / self.work.mass_matrix[AXLE, AXLE]
            wind_up(self.drive, self.state, 0, self.speed, dt)
            speeds.append(self.speed)
            torques.append(float(self.state.torque[0]))
        return np.array(speeds), np.array(torques)


def test_drives_start_cut():
    assert make_drives(6).cut.all()
    speeds, torques = Axle(FREE, set_speed=1.0, cut=True).run(0.01)
    assert not speeds.any()
    assert not torques.any()


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.0, -5.0, 8.0])
def test_servo_reaches_the_set_speed_under_load(load):
    axle = Axle(FREE, set_speed=0.4)
    _, torques = axle.run(2.0, load)
    assert axle.speed == pytest.approx(0.4, abs=1e-6)
    assert torques[-1] == pytest.approx(-load, abs=1e-4)


def test_servo_carries_the_gears_friction_too():
    axle = Axle(FREE._replace(gear_friction=2.0), set_speed=0.4)
    _, torques = axle.run(2.0)
    assert axle.speed == pytest.approx(0.4, abs=1e-6)
    assert torques[-1] == pytest.approx(2.0, rel=1e-3)


def test_servos_response_is_that_of_its_differential_equation():
    # J w' = gain (set - w) + wound, wound' = integral_gain (set - w)
    def rate(_t, state):
        error = 0.4 - state[0]
        return [(FREE.gain * error + state[1]) / INERTIA, FREE.integral_gain * error]

    peer = solve_ivp(rate, (0.0, 0.3), [0.0, 0.0], rtol=1e-10, atol=1e-12, dense_output=True)
    speeds, _ = Axle(FREE, set_speed=0.4).run(0.3)
    theirs = peer.sol(DT * np.arange(1, speeds.size + 1))[0]
    assert np.abs(speeds - theirs).max() < 2e-3 * 0.4
    assert theirs.max() > 0.41  # it overshoots, so the integral takes part


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_torque_stays_within_its_limit_and_the_limit_sets_the_acceleration(sign):
    axle = Axle(FREE, set_speed=sign * 100.0)
    speeds, torques = axle.run(0.2)
    assert np.abs(torques).max() <= 40.0
    assert torques[0] == sign * 40.0
    assert speeds[-1] == pytest.approx(sign * 40.0 / INERTIA * 0.2, rel=1e-9)


@pytest.mark.slow
def test_at_its_limit_the_drive_does_not_wind_up():
    axle = Axle(FREE, set_speed=3.0)
    axle.run(5.0, load=-100.0)  # the load drags it backwards
    assert abs(axle.state.wound[0]) <= 40.0
    assert axle.speed < -100.0


def test_an_overloaded_drive_yields_at_its_limit():
    axle = Axle(FREE)
    speeds, torques = axle.run(1.0, load=60.0)
    assert torques[-1] == -40.0
    # once at the limit, the rest of the load accelerates the axle
    assert (speeds[-1] - speeds[-2]) / DT == pytest.approx((60.0 - 40.0) / INERTIA)


def test_a_cut_clears_the_wound_up_torque():
    axle = Axle(FREE, set_speed=0.0)
    axle.run(1.0, load=-10.0)
    assert axle.state.wound[0] == pytest.approx(10.0, rel=1e-3)
    axle.state.cut[0] = 1.0
    axle.run(DT)
    assert axle.state.wound[0] == 0.0
    # back on power the first torque is the proportional part alone
    axle.state.cut[0], axle.v[AXLE] = 0.0, 0.0
    _, torques = axle.run(DT)
    assert torques[0] == 0.0


@pytest.mark.parametrize(("brakes", "damping"), [(0.0, 0.5), (1.0, 10.0)])
def test_after_a_cut_the_axle_runs_down_by_the_damping_of_the_power_stage(brakes, damping):
    axle = Axle(FREE._replace(brakes_on_cut=brakes), speed=0.4, set_speed=0.4, cut=True)
    speeds, torques = axle.run(0.1)
    exact = 0.4 * np.exp(-damping / INERTIA * DT * np.arange(1, speeds.size + 1))
    assert np.abs(speeds - exact).max() < 1e-3 * 0.4
    assert torques[0] == pytest.approx(-damping * 0.4)


def test_a_cut_is_not_a_hold_braking_resists_only_motion():
    """A steady load moves a shorted motor at load over damping; a speed set-point of zero would stop it."""
    cut = Axle(FREE._replace(brakes_on_cut=1.0), cut=True)
    cut.run(1.0, load=5.0)
    assert cut.speed == pytest.approx(5.0 / 10.0, rel=1e-6)
    rigid = Axle(FREE, set_speed=0.0)
    rigid.run(1.0, load=5.0)
    assert rigid.speed == pytest.approx(0.0, abs=1e-6)


def test_gear_friction_stops_a_coasting_axle_at_a_steady_rate():
    # fast against friction_speed the friction is Coulomb's: 2 N m on 0.5 kg m^2
    axle = Axle(FREE._replace(gear_friction=2.0, coast_damping=0.0), speed=3.0, cut=True)
    speeds, _ = axle.run(0.5)
    assert speeds[-1] == pytest.approx(3.0 - 2.0 / INERTIA * 0.5, rel=1e-3)


def test_gear_friction_holds_a_load_below_it_to_a_creep_and_lets_a_greater_one_go():
    drive = FREE._replace(gear_friction=2.0, coast_damping=0.0)
    rigid = Axle(drive, cut=True)
    rigid.run(0.5, load=1.0)
    # tanh(w / 0.02) = 1/2
    assert rigid.speed == pytest.approx(0.02 * np.arctanh(0.5), rel=1e-6)
    let_go = Axle(drive, cut=True)
    let_go.run(0.5, load=3.0)
    assert let_go.speed == pytest.approx((3.0 - 2.0) / INERTIA * 0.5, rel=0.05)


def test_gear_friction_holds_from_a_dead_stop_as_from_the_slowest_motion():
    drive = FREE._replace(gear_friction=2.0, coast_damping=0.0)
    first = [Axle(drive, speed=speed, cut=True).run(DT, load=1.0)[0][0] - speed for speed in (0.0, 1e-12, 1e-9, 1e-6)]
    assert first == pytest.approx([first[-1]] * 4, rel=1e-3)
    # by hand: 1 N m on the inertia and the friction's slope of 2/0.02 N m s times dt
    assert first[0] == pytest.approx(DT * 1.0 / (INERTIA + 100.0 * DT))


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_stiff_settings_stay_stable_at_any_step(dt):
    drive = FREE._replace(gain=2000.0, integral_gain=0.0, torque_limit=1e6, gear_friction=50.0, brake_damping=5000.0)
    for cut in (False, True):
        axle = Axle(drive._replace(brakes_on_cut=1.0), speed=0.3, set_speed=0.0, cut=cut)
        speeds, _ = axle.run(100 * dt, dt=dt)
        assert np.all(np.diff(np.abs(speeds)) <= 0.0)
        assert speeds.min() >= 0.0


MOTOR = Motor(stall_torque=30.0, no_load_speed=2.0)
BY_DUTY = FREE._replace(motor=MOTOR)


def by_duty(duty: float, drive: Drive = BY_DUTY, **start) -> Axle:
    axle = Axle(drive, **start)
    axle.state.duty[0] = duty
    return axle


@pytest.mark.slow
@pytest.mark.parametrize("duty", [1.0, 0.4, -0.6])
def test_a_free_motor_reaches_that_share_of_its_no_load_speed(duty):
    axle = by_duty(duty)
    axle.run(2.0)
    assert axle.speed == pytest.approx(duty * MOTOR.no_load_speed, rel=1e-6)


def test_a_motor_holds_a_load_at_the_speed_of_its_characteristic():
    axle = by_duty(0.5)
    _, torques = axle.run(2.0, load=-6.0)
    assert axle.speed == pytest.approx(MOTOR.no_load_speed * (0.5 - 6.0 / MOTOR.stall_torque), rel=1e-6)
    assert torques[-1] == pytest.approx(6.0, rel=1e-6)


@pytest.mark.slow
def test_a_motor_starts_as_its_differential_equation_says():
    # J w' = stall (duty - w / no_load): exponential with J no_load / stall
    axle, duty = by_duty(0.8), 0.8
    speeds, _ = axle.run(0.05, dt=1e-6)
    lag = INERTIA * MOTOR.no_load_speed / MOTOR.stall_torque
    assert speeds[-1] == pytest.approx(duty * MOTOR.no_load_speed * (1.0 - math.exp(-0.05 / lag)), rel=1e-4)


def test_the_torque_limit_holds_by_duty_too():
    _, torques = by_duty(1.0, BY_DUTY._replace(torque_limit=10.0)).run(0.001)
    assert torques == pytest.approx(10.0)


def test_without_a_duty_a_drive_with_a_motor_holds_its_speed_as_one_without():
    plain, with_motor = Axle(FREE, set_speed=0.4), Axle(BY_DUTY, set_speed=0.4)
    assert (plain.run(0.3, -2.0)[0] == with_motor.run(0.3, -2.0)[0]).all()


def test_a_motor_that_cannot_be_is_refused_with_all_its_numbers():
    with pytest.raises(ValueError, match=r"motor\.stall_torque is 0\.0.*motor\.no_load_speed is -1"):
        check_drive(FREE._replace(motor=Motor(0.0, -1.0)))
