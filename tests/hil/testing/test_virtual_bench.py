"""Drivers of rover-hil with the plug-in's devices in virtual time."""

import math

import pytest

from drivers.driver_type import InstrumentSetup, RigSetup
from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand, ValveCommand
from drivers.modbus.encoders import ModbusEncoders
from drivers.modbus.section import ModbusJointsSection, ModbusValvesSection
from drivers.modbus.valves import ModbusValves
from drivers.roboclaw.drives import RoboClawDrives
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.valve_layout import ValveLayout
from hil.testing import amplifier, encoders, relay_board, roboclaw, roboteq

ADDRESSES = (0x80, 0x81, 0x82)
VALVES_OFF, LEFT_EXTENDS = ((False, False), (False, False)), ((True, False), (False, False))


@pytest.fixture
def turning(virtual_bench):
    """Controllers, and the driver of six wheels that turn at 1 rad/s."""
    with roboclaw(ADDRESSES, bench=virtual_bench) as bus:
        wheels = tuple("abcdef")
        section = RoboClawDrivesSection.model_validate(
            {
                "driver": "roboclaw",
                "ports": [bus.path],
                "baud": bus.baud,
                "counts_per_rev": bus.counts_per_rev,
                "timeout_ms": 200,
                "controllers": [
                    {"address": address, "m1": wheels[2 * place], "m2": wheels[2 * place + 1]}
                    for place, address in enumerate(ADDRESSES)
                ],
            }
        )
        drives = RoboClawDrives(section, RigSetup(wheels=wheels), virtual_bench.host)
        drives.open()
        for number, speed in enumerate((0.0, 1.0), start=1):
            drives.write(DriveCommand(number, speed == 0.0, (speed,) * 6))
            virtual_bench.step_until(drives, lambda: acknowledged(drives) >= number)  # noqa: B023  called at once
        yield bus, drives


def acknowledged(driver):
    sample = driver.read(0)
    return -1 if sample is None else sample.acknowledged_ns


def test_a_driver_turns_the_wheels_with_their_inertia(turning, virtual_bench):
    bus, drives = turning
    assert 0.0 < bus.wheels[0].speed_radps < 1.0
    virtual_bench.step_for(drives, 0.5)
    assert [wheel.speed_radps for wheel in bus.wheels] == pytest.approx(
        [1.0] * 6, rel=1e-3
    )  # a whole number of counts a second
    bus.wheels[0].blocked = True
    virtual_bench.step_for(drives, 0.1)
    assert bus.wheels[0].speed_radps == 0.0
    assert bus.wheels[0].current_A > bus.wheels[1].current_A


def test_the_controllers_stop_by_themselves_when_the_driver_falls_silent(turning, virtual_bench):
    bus, _ = turning
    virtual_bench.run_for(0.15)
    assert bus[0x80].m1.running
    virtual_bench.run_for(0.15)
    assert not bus[0x80].m1.running
    virtual_bench.run_for(1.0)
    assert [wheel.speed_radps for wheel in bus.wheels] == [0.0] * 6  # friction has stopped them


def test_a_fault_lasts_as_long_as_asked(turning, virtual_bench):
    bus, drives = turning
    bus.inject_fault("silent", seconds=0.05)
    with pytest.raises(DeviceError):
        virtual_bench.step_for(drives, 0.5)
    with pytest.raises(TimeoutError, match=r"0\.2 s of virtual time"):
        virtual_bench.step_until(drives, lambda: False, within_s=0.2)  # it is well again


def test_two_runs_are_alike_to_the_bit(virtual_bench):
    def speeds():
        with roboteq(bench=virtual_bench, friction_Nm=2.0) as device:
            device.wheels[0].drive(0.5)
            virtual_bench.run_for(0.3)
            device.wheels[0].cut()
            virtual_bench.run_for(0.05)
            return device.wheels[0].speed_radps, device.wheels[0].current_A

    assert speeds() == speeds()


def test_a_valve_goes_off_by_itself_when_nobody_renews_it(virtual_bench):
    with relay_board(baud=19200, bench=virtual_bench) as board:
        section = ModbusValvesSection(driver="modbus", port=board.path, baud=board.baud, flash_on=True)
        valves = ModbusValves(section, RigSetup(valves=ValveLayout()), virtual_bench.host)
        valves.open()
        for number, powered in enumerate((VALVES_OFF, LEFT_EXTENDS), start=1):
            valves.write(ValveCommand(number, powered))
            virtual_bench.step_until(valves, lambda: acknowledged(valves) >= number)  # noqa: B023  called at once
        assert board.cylinders.powered == [True, False, False, False]
        virtual_bench.run_for(0.6)
        assert board.cylinders.powered == [False] * 4
        assert [(coil, on) for _, coil, on in board.switched] == [(0, True), (0, False)]


def test_encoders_are_read_as_a_test_turns_them(virtual_bench):
    with encoders(bench=virtual_bench) as line:
        section = ModbusJointsSection.model_construct(driver="modbus", port=line.path, encoders=line.settings)
        setup = InstrumentSetup(tuple(encoder.joint for encoder in line.settings), 50.0, 0)
        reader = ModbusEncoders(section, setup, virtual_bench.host)
        line.angles[:] = 0.5, -0.5
        reader.open()
        reading = virtual_bench.step_until(reader, lambda: reader.read(virtual_bench.now_ns()))
        assert reading.value == pytest.approx((0.5, -0.5), abs=math.tau / 4096)


@pytest.mark.parametrize("speed_radps", [1.0, -1.0])
def test_a_wheel_that_is_cut_loses_its_energy_to_friction_alone(virtual_bench, speed_radps):
    with roboclaw(bench=virtual_bench, inertia_kgm2=0.5, friction_Nm=2.0) as bus:
        wheel = bus.wheels[0]
        wheel.speed_radps = speed_radps
        virtual_bench.run_for(1.0)
        assert wheel.speed_radps == 0.0
        assert abs(wheel.angle_rad) == pytest.approx(0.5 * 0.5 / 2.0, rel=1e-2)  # J w^2 / 2 = friction times angle


def test_a_motor_reaches_the_speed_at_which_its_torque_is_that_of_friction_and_load(virtual_bench):
    with roboclaw(bench=virtual_bench, friction_Nm=2.0, stall_Nm=60.0, no_load_radps=3.0) as bus:
        wheel = bus.wheels[0]
        wheel.load_Nm = 10.0
        wheel.drive(0.5)
        virtual_bench.run_for(1.0)
        assert wheel.speed_radps == pytest.approx(3.0 * (0.5 - 12.0 / 60.0), rel=1e-6)
        wheel.hold(5.0)  # more than it can
        virtual_bench.run_for(1.0)
        assert wheel.speed_radps == pytest.approx(3.0 * (1.0 - 12.0 / 60.0), rel=1e-6)
        assert wheel.current_A == pytest.approx(12.0 / 10.0)


def test_voltages_are_sampled_as_they_were_when_a_test_set_them(virtual_bench):
    with amplifier(bench=virtual_bench) as device:
        import numpy as np

        device.volts.pace(1000)
        device.volts[0] = 1.0
        virtual_bench.run_for(0.010)
        device.volts[0] = 2.0
        virtual_bench.run_for(0.010)
        volts = np.empty((20, 2))
        device.volts.copy(0, volts)
        assert volts[:, 0].tolist() == [1.0] * 10 + [2.0] * 10
        assert device.volts.volts(0) == 2.0
