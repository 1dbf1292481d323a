"""Tests that need real devices. Run only with `-m hardware`; read docs/how-to/bring-up.md first."""

import os
import time
from contextlib import closing

import pytest

from drivers.messages import DriveCommand, ValveCommand
from drivers.modbus.section import ModbusValvesSection
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import CommandCode
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.serial.link import SerialLink
from hil.app.check import check_rig
from hil.app.driver_factory import DriverFactory
from hil.app.run import run_experiment
from hil.config import Config
from hil.config.rig import Rig
from hil.config.rig_setup import rig_setup
from hil.config.schema.capture import JogConfig
from models.rover.assembly import WHEELS

VALVES_OFF = ((False, False), (False, False))

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels


pytestmark = pytest.mark.hardware
SPEED_MPS = 0.02
PATIENCE_S = 5.0


def step_until(device, condition):
    """Steps until a sample satisfies a condition."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        device.step()
        sample = device.read(time.monotonic_ns())
        if sample is not None and condition(sample):
            return sample
    raise AssertionError("no such sample")


def link(port, baud):
    """The port without a driver: queries change nothing, while opening a driver stops moving wheels."""
    found = SerialLink("hardware test", port, baud, timeout_s=0.1)
    found.open()
    return found


def jogged(config, folder, **jog):
    """The summary of a jog."""
    section = JogConfig(**jog)
    changed = Config.model_validate(config.model_copy(update={"experiment": "jog", "jog": section}).model_dump())
    return run_experiment(changed, folder, progress=lambda _: None).summary


def test_check_finds_everything_in_order(config):
    checks, missing = check_rig(Rig(config), quick=True)
    assert missing == []
    assert [f"{check.item}: {check.found}" for check in checks if not check.ok] == []


@pytest.mark.parametrize("wheel", WHEELS)
def test_each_wheel_moves_its_encoder_and_no_other(config, tmp_path, wheel):
    summary = jogged(config, tmp_path, wheels=(wheel,), speed_mps=SPEED_MPS, seconds=1.5)
    reached = summary["speed_reached_mps"]
    assert summary["reasons"] == []
    assert reached.pop(wheel) == pytest.approx(SPEED_MPS, rel=0.2)
    assert list(reached.values()) == pytest.approx([0.0] * 5, abs=0.1 * SPEED_MPS)


def test_the_serial_time_out_stops_a_wheel_that_nobody_commands_any_more(config):
    if not isinstance(config.devices.drives, RoboClawDrivesSection):
        pytest.skip("no RoboClaw")
    drives = DriverFactory(config.devices, rig_setup(config)).device("drives")
    drives.open()
    try:
        speed = SPEED_MPS / config.rover.wheel_radius_m
        drives.write(DriveCommand(1, True, ZERO_SPEEDS))
        step_until(drives, lambda sample: sample.acknowledged_ns >= 1)
        drives.write(DriveCommand(2, False, (speed, *ZERO_SPEEDS[1:])))
        step_until(drives, lambda sample: sample.speed_radps[0] > 0.5 * speed)
        time.sleep(config.devices.drives.timeout_ms * 1e-3 + 1.0)  # and it runs out
    finally:
        drives.close()
    one = next(one for one in config.devices.drives.controllers if WHEELS[0] in (one.m1, one.m2))
    asked = CommandCode.SPEED_M1 if one.m1 == WHEELS[0] else CommandCode.SPEED_M2
    with closing(link(config.devices.drives.ports[one.bus], config.devices.drives.baud)) as bus:
        assert protocol.speed_qpps(bus.ask(*protocol.reading(one.address, asked))) == 0


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("way", ["extend", "retract"])
def test_each_valve_fills_its_chamber_and_no_other(config, tmp_path, side, way):
    reached = jogged(config, tmp_path, wheels=(), valve=f"{side}_{way}")["pressure_reached_kPa"]
    if None in reached.values():
        pytest.skip("pressures are not measured")
    filled = reached.pop(f"{side}_{way}")
    assert filled > 0.5 * config.cylinders.supply_kPa
    assert max(reached.values()) < 0.2 * filled


def test_flash_on_lets_go_of_a_valve_that_nobody_holds_any_more(config):
    if not (isinstance(config.devices.valves, ModbusValvesSection) and config.devices.valves.flash_on):
        pytest.skip("no board with flash-on")
    valves = DriverFactory(config.devices, rig_setup(config)).device("valves")
    valves.open()
    try:
        valves.write(ValveCommand(1, VALVES_OFF))
        step_until(valves, lambda sample: sample.acknowledged_ns >= 1)
        valves.write(ValveCommand(2, ((True, False), (False, False))))
        step_until(valves, lambda sample: sample.acknowledged_ns >= 2)
        time.sleep(2.0 * config.devices.valves.flash_s)
    finally:
        valves.close()
    settings = valves.settings
    request = settings.read_coils()
    with closing(link(settings.port, settings.baud)) as bus:
        coils = bus.ask(request.frame, request.missing, request.decode)
    assert coils[settings.coils[0] - min(settings.coils)] is False


@pytest.mark.skipif("HIL_HARDWARE_PRESS" not in os.environ, reason="HIL_HARDWARE_PRESS=1: with the stop held pressed")
def test_a_pressed_emergency_stop_is_seen(config):
    checks, missing = check_rig(Rig(config), quick=True)
    assert missing or any("emergency stop" in check.item and not check.ok for check in checks)
