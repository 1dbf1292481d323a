"""The simulated motion-capture server over real UDP ports: our driver, and a client that is not ours."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
from natnet import NatNetClient

from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER
from drivers.natnet import motion
from drivers.natnet.motion import NatNetMotion
from drivers.natnet.simulated.server import MotionServer
from drivers.sim.protocol.line import Line, LineFault
from drivers.sim.protocol.udp import UdpTerminal
from tests.drivers.natnet.conftest import PLACED, POSE, Moves, motive

PATIENCE_NS = 300 * 10**9  # no test waits for it


@pytest.fixture
def line():
    """A server on a UDP port; it is closed once nobody serves it any more."""
    instrument = Moves(time.monotonic_ns, lambda t_s: PLACED)
    line = Line(Path("natnet"), MotionServer(instrument), 1, 0, UdpTerminal, network=True)
    yield line
    line.close()


@pytest.fixture
def readings(line, serve, monkeypatch):
    """Opens our driver; a function that returns so many more of its readings."""
    monkeypatch.setattr(motion, "GREET_NS", PATIENCE_NS)  # this machine may be busy
    serve([line])
    driver = NatNetMotion(motive(line.endpoint, silent_s=PATIENCE_NS * 1e-9), InstrumentSetup(POSE, 100.0, 0), COMPUTER)
    driver.open()

    def get(count):
        found, until_ns = [], time.monotonic_ns() + PATIENCE_NS
        while len(found) < count:
            driver.step()
            if (reading := driver.read(0)) is not None:
                found.append(reading)
            assert time.monotonic_ns() < until_ns
        return found

    yield get
    driver.close()


def test_our_driver_reads_poses_that_arrived_after_they_were_measured_in_their_order(readings):
    found = readings(20)
    assert all(reading.value == pytest.approx(PLACED, abs=1e-6) for reading in found)
    assert all(reading.t_ns < reading.arrived_ns for reading in found)
    assert all(b.t_ns > a.t_ns and b.sequence > a.sequence for a, b in pairwise(found))


def test_a_server_that_is_unplugged_and_back_streams_again(line, readings):
    before = readings(3)[-1]
    line.inject_fault(LineFault("disconnect"))
    line.inject_fault(LineFault("reconnect"))
    line.device.restart()
    assert readings(3)[-1].t_ns > before.t_ns


def test_a_client_that_is_not_ours_connects_and_reads_the_same_poses(line, serve):
    serve([line])
    port = int(line.endpoint.rpartition(":")[2])
    client, frames = NatNetClient(command_port=port, use_multicast=False), []
    client.on_data_frame_received_event.handlers.append(frames.append)
    client.connect(timeout=PATIENCE_NS * 1e-9)
    until_ns = time.monotonic_ns() + PATIENCE_NS
    while len(frames) < 10 and time.monotonic_ns() < until_ns:
        client.update_sync()
        time.sleep(0.01)
    assert client.server_info.application_name == "Motive"
    client.shutdown()
    x, y, z = PLACED[:3]
    assert len(frames) >= 10
    for frame in frames:
        (body,) = frame.rigid_bodies
        assert body.tracking_valid
        assert body.pos == pytest.approx((x, z, -y), abs=1e-6)  # it streams with y up
