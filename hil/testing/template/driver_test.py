"""Tests of the driver, in virtual time against its own simulated device. Install the package, and run `pytest`."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from drivers.driver_type import RigSetup
from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand
from drivers.registry import driver_names
from drivers.sim.protocol.line import Line, LineFault
from drivers.sim.protocol.plant_ports import PlantPorts
from hil.testing import VirtualBench
from hil.testing.template.entry import TEXTLINE, TextlineSection
from hil.testing.wheels import Cylinders, Wheel, Wheels

SETUP = RigSetup(wheels=("left", "right"))
CUT, AHEAD = DriveCommand(1, True, (0.0, 0.0)), DriveCommand(2, False, (0.3, 0.3))
Bench = tuple[VirtualBench, Any, Wheels, Line]


@pytest.fixture
def bench(virtual_bench: VirtualBench) -> Iterator[Bench]:
    """The bench, the driver, the wheels that its simulated device turns, and the line between them."""
    wheels = Wheels([Wheel(virtual_bench.now_ns) for _ in SETUP.wheels])
    section = TextlineSection(driver="textline", rate_hz=100)
    ports = TEXTLINE.simulated_ports(section, SETUP, PlantPorts(wheels, Cylinders(virtual_bench.now_ns)))
    with ExitStack() as stack:
        line = virtual_bench.connect("textline", ports["textline"], stack)
        drives = TEXTLINE.make(section.model_copy(update={"port": line.endpoint}), SETUP, virtual_bench.host)
        drives.open()
        stack.callback(drives.close)
        for command in (CUT, AHEAD):  # it runs only once it was told to cut
            drives.write(command)
            virtual_bench.step_for(drives, 0.2)
        yield virtual_bench, drives, wheels, line


def test_it_turns_the_wheels_and_cuts_them(bench: Bench) -> None:
    """A cut is no output, not speed zero."""
    virtual_bench, drives, wheels, _ = bench
    assert [wheel.commanded_radps for wheel in wheels] == [0.3, 0.3]
    assert drives.read(0).speed_radps == pytest.approx((0.3, 0.3), abs=0.01)
    drives.write(CUT)
    virtual_bench.step_for(drives, 0.05)
    assert [wheel.commanded_radps for wheel in wheels] == [None, None]


def test_the_device_stops_by_itself_when_the_program_is_gone(bench: Bench) -> None:
    """Nobody calls the driver any more."""
    virtual_bench, _, wheels, _ = bench
    virtual_bench.run_for(0.2)
    assert [wheel.commanded_radps for wheel in wheels] == [None, None]


def test_after_a_lost_answer_it_stays_cut_until_it_is_told_to_cut_and_to_run(bench: Bench) -> None:
    """Other faults are the kinds of `LineFault`."""
    virtual_bench, drives, wheels, line = bench
    line.inject_fault(LineFault("off"))
    with pytest.raises(DeviceError):
        virtual_bench.step_for(drives, 1.0)
    line.inject_fault(LineFault("reconnect"))
    for commands, speed_radps in (((AHEAD,), None), ((CUT, AHEAD), 0.3)):
        for command in commands:
            drives.write(command)
            virtual_bench.step_for(drives, 0.2)
        assert [wheel.commanded_radps for wheel in wheels] == [speed_radps, speed_radps]


def test_a_config_can_name_it() -> None:
    """The package is installed."""
    assert "textline" in driver_names("drives")
