"""Checks by `hil check` of servos whose answers are set by the test."""

import math

import pytest

from drivers.interfaces import ControllerState, DeviceError, Health
from drivers.messages import JointSample
from hil.app.check.instrument_checks import check_servos
from hil.config import load_config
from hil.config.rig import Rig

MS = 1_000_000
NAMES = [f"{row}_{side}_walking" for row in ("front", "middle", "rear") for side in ("left", "right")]
PAIRS = ", ".join(f"{{address: {128 + i}, m1: {NAMES[2 * i]}, m2: {NAMES[2 * i + 1]}}}" for i in range(3))
SERVOS = f"{{driver: roboclaw, ports: [/dev/s], counts_per_turn: 4096, gear: 100, controllers: [{PAIRS}]}}"
RIG = Rig(load_config("sim_wire", ["servos={joints: {walking: {range_deg: [-20, 20]}}}", f"devices.servos={SERVOS}"]))


class Access:
    """Servos that confirm a cut with the next sample, if at all, and the access to them."""

    def __init__(self):
        self.t_ns, self.cut_ns, self.confirms, self.angles = 0, -1, True, (0.0,) * len(NAMES)
        self.state = ControllerState("address 0x80", "USB Roboclaw", 24.0, (0.0, 0.0), "")
        self.state_now = Health("servos", True, 0, "", rate_hz=50.0)
        self.closed = False

    def device(self, role):
        return self

    def open(self):
        pass

    def close(self):
        self.closed = True

    def write(self, command):
        assert command.cut
        self.cut_ns = command.t_ns

    def read(self, t_ns):
        return JointSample(1, t_ns, self.angles, self.cut_ns if self.confirms else -1) if self.angles else None

    def health(self):
        return self.state_now

    def states(self):
        return [self.state]

    def go_on(self):
        self.t_ns += 20 * MS
        return self.t_ns


@pytest.fixture
def access():
    return Access()


def failed(access):
    return {check.item for check in check_servos(RIG, access) if not check.ok}


def test_servos_that_are_in_order_pass_and_nothing_but_a_cut_is_commanded(access):
    checks = {check.item: check for check in check_servos(RIG, access)}
    assert all(check.ok for check in checks.values())
    assert checks["joint rear_left_walking"].found == "0.0 deg"
    assert checks["dead-man of the servos"].found == "100 ms"
    assert checks["servos at the cut"].found == RIG.config.servos.on_cut
    assert access.closed


def test_a_start_that_stays_confirmed_is_said(access):
    assert "start of the joints" not in {check.item for check in check_servos(RIG, access)}
    confirmed = Rig(RIG.config.replace({"devices.servos.start": "confirmed"}))
    checks = {check.item: check for check in check_servos(confirmed, Access())}
    assert checks["start of the joints"].found == "confirmed: a lost counter is loaded"


def test_a_cut_that_is_not_confirmed_and_an_angle_out_of_its_range_are_named(access):
    access.confirms, access.angles = False, (math.radians(25.0), *access.angles[1:])
    assert failed(access) == {"servos cut", "joint front_left_walking"}


def test_a_slow_link_a_pressed_button_and_what_a_controller_reports_are_named(access):
    access.state_now = Health("servos", True, 0, "", rate_hz=20.0, e_stop=True)
    access.state = ControllerState("address 0x80", "USB Roboclaw", 24.0, (0.0, 0.0), "status 0x0040")
    assert failed(access) == {"rate of the servos", "emergency stop of the servos", "address 0x80"}


def test_servos_that_say_nothing_are_missing(access):
    access.angles = ()
    with pytest.raises(DeviceError, match="no angles within 3 s"):
        check_servos(RIG, access)
