"""State reported by motor controllers, item by item, from simulated ones in virtual time."""

import math

import pytest

from drivers.cia402.drives import Cia402Drives
from drivers.cia402.section import Cia402DrivesSection
from drivers.driver_type import RigSetup
from drivers.interfaces import ControllerState
from drivers.roboclaw.drives import RoboClawDrives
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboteq.controller import RoboteqController
from drivers.roboteq.drives import RoboteqDrives
from drivers.roboteq.motor_layout import RoboteqWheels
from drivers.roboteq.protocol import VOLTS, FaultFlag, MotorFlag
from drivers.roboteq.section import RoboteqDrivesSection

WHEELS = ("a", "b", "c", "d", "e", "f")
RIG = RigSetup(wheels=WHEELS)
CLAW = RoboClawDrivesSection.model_validate(
    {
        "driver": "roboclaw",
        "ports": ["/dev/claw"],
        "counts_per_rev": 8192.0,
        "controllers": [{"address": 0x80 + i, "m1": WHEELS[2 * i], "m2": WHEELS[2 * i + 1]} for i in range(3)],
    }
)
TEQ = RoboteqDrivesSection.model_validate(
    {
        "driver": "roboteq",
        "max_rpm": 3000.0,
        "gear_ratio": 100.0,
        "controllers": [
            {"port": f"/dev/teq{i}", "channel_1": WHEELS[2 * i], "channel_2": WHEELS[2 * i + 1]} for i in range(3)
        ],
    }
)
CAN = Cia402DrivesSection.model_validate(
    {
        "driver": "cia402",
        "port": "/dev/can",
        "counts_per_turn": 4096.0,
        "gear_ratio": 100.0,
        "controllers": [{"node": 1 + i, "wheel": wheel} for i, wheel in enumerate(WHEELS)],
    }
)
EACH = RoboClawDrives(CLAW, RIG), RoboteqDrives(TEQ, RIG), Cia402Drives(CAN, RIG)


def test_nothing_is_known_of_a_controller_that_was_not_asked():
    for drives, controllers in zip(EACH, (3, 3, 6), strict=True):
        states = drives.states()
        assert len(states) == controllers
        assert not any(state.known for state in states)
        assert len({state.where for state in states}) == controllers


@pytest.mark.parametrize("drives", EACH, ids=["roboclaw", "roboteq", "cia402"])
def test_what_was_not_asked_yet_is_not_told_as_a_number(drives):
    detail = drives.health().detail
    assert "nan" not in detail
    assert "status" not in detail


def test_it_is_known_once_voltage_and_all_currents_are():
    assert ControllerState("here", "", 12.0, (0.0, 0.0), "").known
    assert not ControllerState("here", "", 12.0, (0.0, math.nan), "").known
    assert not ControllerState("here", "", math.nan, (0.0, 0.0), "").known


def test_a_roboteq_tells_its_faults_in_words_but_not_our_own_emergency_stop():
    wheels = RoboteqWheels(TEQ, RIG)
    one = RoboteqController(wheels, wheels.controllers[0], lambda: 0, lambda: None)
    one.faults = FaultFlag.EMERGENCY_STOP
    one.slow[VOLTS] = (120, 241, 4980)
    assert one.state().supply_V == pytest.approx(24.1)
    assert one.state().trouble == ""
    one.faults |= FaultFlag.OVERHEAT
    one.slow["?FM"] = (0, MotorFlag.STALLED)
    assert one.state().trouble == "overheat, channel 2 stalled"
    assert "overheat, channel 2 stalled" in one.detail()
