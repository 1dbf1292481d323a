"""Streaming devices on real pseudo-terminals, in real time: what happens, not how soon."""

import math
import time
from itertools import pairwise

import pytest

from drivers.dimetix.distance import DimetixDistance
from drivers.dimetix.section import DimetixSection
from drivers.dimetix.simulated import DimetixDevice
from drivers.driver_type import InstrumentSetup
from drivers.interfaces import LinkLostError
from drivers.sim.protocol.line import Line, LineFault
from drivers.vectornav.imu import VectorNavImu
from drivers.vectornav.section import VectorNavSection
from drivers.vectornav.simulated import VectorNavDevice
from tests.drivers.stream_bench import PlantInstrument

PATIENCE_S = 300.0  # no test waits for it
INERTIAL = ("ax_mps2", "ay_mps2", "az_mps2", "wx_radps", "wy_radps", "wz_radps")


class Streams:
    """A device on a pseudo-terminal, and its driver."""

    def __init__(self, line, driver):
        self.line, self.driver = line, driver

    def readings(self, count):
        """The next so many; raises what a step raises.

        A device whose thread the machine has not let run is silent, and is opened again.
        """
        found, until_s = [], time.monotonic() + PATIENCE_S
        while len(found) < count:
            assert time.monotonic() < until_s
            try:
                self.driver.step()
            except LinkLostError as error:
                if "no message for" not in str(error):
                    raise
                self.driver.open()
            if reading := self.driver.read(0):
                found.append(reading)
        return found


def imu(port, began_ns):
    setup = InstrumentSetup(INERTIAL, 200.0, 2_000_000)
    instrument = PlantInstrument(INERTIAL, 200.0, time.monotonic_ns, began_ns)
    instrument.values = lambda number: (0.001 * (number % 10_000), 0.0, -9.81, 0.0, 0.0, 0.5)
    line = Line(port, VectorNavDevice(instrument, 460800, 2_000_000), 460800)
    return Streams(line, VectorNavImu(VectorNavSection(driver="vectornav", port=str(port), baud=460800), setup))


def laser(port, began_ns):
    setup = InstrumentSetup(("distance_m",), 100.0, 2_000_000)
    instrument = PlantInstrument(("distance_m",), 100.0, time.monotonic_ns, began_ns)
    instrument.values = lambda number: (1.0 + 1e-4 * (number % 10_000),)
    line = Line(port, DimetixDevice(instrument, parity=True, sensor=0, delay_ns=2_000_000), 19200)
    return Streams(line, DimetixDistance(DimetixSection(driver="dimetix", port=str(port)), setup))


@pytest.fixture(params=[imu, laser])
def streams(request, tmp_path, serve):
    made = request.param(tmp_path / "port", time.monotonic_ns())
    serve([made.line])
    yield made
    made.driver.close()
    made.line.close()


def test_readings_come_with_growing_times_and_with_values(streams):
    streams.driver.open()
    found = streams.readings(50)
    assert all(sooner.t_ns < later.t_ns < later.arrived_ns for sooner, later in pairwise(found))
    assert all(math.isfinite(value) for reading in found for value in reading.value)
    assert found[-1].value[0] > found[0].value[0]
    assert streams.driver.health().open


def test_a_device_that_streams_while_nobody_reads_does_no_harm(streams):
    """Its terminal is full, and later bytes are lost; what is read after that is new, and no more of it is damaged.

    On a busy machine nobody may read for so long later, too: a message that is damaged by it is counted and left out.
    """
    streams.driver.open()
    streams.readings(2)
    time.sleep(0.5)
    streams.line.inject_fault(LineFault("duplicate", count=10_000))
    time.sleep(0.5)
    streams.line.inject_fault(LineFault("reconnect"))
    streams.driver.open()
    opened_ns = time.monotonic_ns()
    found = streams.readings(5)
    assert found[0].t_ns > opened_ns - 1_000_000_000
    assert all(sooner.t_ns < later.t_ns < later.arrived_ns for sooner, later in pairwise(found))
    assert all(-10.0 < value < 12.0 for reading in found for value in reading.value)


def test_unplugged_it_is_lost_and_plugged_in_again_it_goes_on(streams):
    streams.driver.open()
    streams.readings(5)
    streams.line.inject_fault(LineFault("disconnect"))
    with pytest.raises(LinkLostError):
        streams.readings(1000)
    with pytest.raises(LinkLostError, match="there is no such port"):
        streams.driver.open()
    streams.line.inject_fault(LineFault("reconnect"))
    streams.driver.open()
    assert len(streams.readings(5)) == 5
