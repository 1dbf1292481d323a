"""Wheel drives and servos with a bus and a process each, in real time: what happens, and in which order.

On a busy machine a run may be refused, or end in Safe, before the test disturbs it: what holds then is tested, too.
Times, and each fault by itself, are tested by tests/protocol, in virtual time.
"""

import json

import numpy as np
import pytest

from drivers.interfaces import DeviceError
from hil.messages.fault import Fault
from hil.recording import read_trial
from hil.simulator.control_socket import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stalls")]
DRIVES, SERVOS = "roboclaw", "roboclaw_servos"
ADDRESSES = {0x80, 0x81, 0x82}
TABLE = "time_s,speed_mps,front_left_walking_deg\n0,0,0\n0.6,0.02,3\n2.5,0.02,3\n3,0,3\n"
MOVES_NS = 2_000_000_000  # of the run: all is driven until then
PATIENCE_S = 500.0


@pytest.fixture(scope="module")
def wire(serve):
    """The rig of both tests: a joint swings while the rover drives."""
    return serve("sim_walk_wire", "telemetry.endpoint=''", f"stimulus.table={json.dumps(TABLE)}", "record.after_s=0.2")


@pytest.fixture
def walk(trial, wire):
    """Make a run; None: this machine was too busy to begin it. Everything stands after it, whatever came of it."""

    def stands():
        return all(not runs(wire, bus) for bus in (DRIVES, SERVOS))

    def walk(act=None):
        try:
            return trial(act)
        except DeviceError:
            return None
        finally:
            assert wait_for(stands, PATIENCE_S)

    return walk


def runs(wire, bus):
    """Controllers that have not been stopped since their newest start, by a command or a time-out."""
    seen = wire.ask("stops", device=bus)
    stops = dict(sorted([*seen["stops"], *seen["timeouts"]], key=lambda one: one[1]))
    return {address for address, at_ns in seen["starts"] if at_ns > stops.get(address, 0)}


def test_joints_and_wheels_are_read_in_order_and_follow_until_the_end_or_safe(walk, wire):
    if (done := walk()) is None:
        return
    tick = read_trial(done.folder).tick
    for link in ("servos", "drives"):
        for name in ("t_ns", "acknowledged_ns"):
            times_ns = tick[f"{link}_{name}"]
            if done.events:  # a link that was lost and opened again has read and confirmed nothing yet
                times_ns = times_ns[times_ns > 0]
            assert (np.diff(times_ns) >= 0).all()
    if done.events:
        assert tick["safe"][-1] == tick["servos_cut"][-1] == tick["cut"][-1] == 1
        return
    asked, found = (np.degrees(tick[name][:, 0]) for name in ("set_servo_angle_rad", "servo_angle_rad"))
    assert asked.max() == pytest.approx(3.0, abs=0.2)
    assert found[-1] == pytest.approx(3.0, abs=0.5)
    assert set(wire.seen("starts", done.start_ns, SERVOS)) == ADDRESSES


@pytest.mark.soak
def test_a_servo_bus_that_falls_silent_stops_the_wheels_and_nothing_starts_again(walk, wire):
    done = walk(lambda _: wire.inject_fault(SERVOS, "off"))
    if done is None:
        return
    if done.start_ns < done.acted_ns < done.start_ns + MOVES_NS:
        assert done.events  # of the bus, or of a machine that was too busy before
        assert read_trial(done.folder).tick["safe"][-1] == 1
    for bus in (DRIVES, SERVOS):
        starts = [address for address, at_ns in wire.ask("stops", device=bus)["starts"] if at_ns >= done.start_ns]
        assert len(starts) == len(set(starts))
    if Fault.LINK_LOST in done.faults:
        assert read_trial(done.folder).tick["servos_cut"][-1] == 1
