"""A stop on a second descriptor of a port that another process has open, by the test's clock."""

import termios

import pytest

from drivers.host import COMPUTER
from drivers.interfaces import LinkLostError
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import CommandCode, Listener
from drivers.serial.link import NEVER_NS, StopPort

MS = 1_000_000
NOW_NS = 5_000_000_000
BYTE_NS = 10 * 1_000_000_000 // 115200


@pytest.fixture
def pty(terminal):
    return terminal("port")


def test_a_stop_is_written_while_another_process_has_the_port_for_itself(pty):
    stop = StopPort(pty.stop(b"halt"))
    driver = COMPUTER.open_serial(str(pty.path), 115200)
    stop.begin(NOW_NS)
    assert stop.send(NOW_NS)
    assert pty.come() == b"halt"
    driver.close()
    stop.close()


def test_the_output_queue_is_thrown_away_before_the_first_frame_and_not_again(pty, monkeypatch):
    """A pseudo-terminal passes bytes on at once, so the test checks the request and not its effect."""
    flushed = []
    monkeypatch.setattr(termios, "tcflush", lambda _, queue: flushed.append((queue, pty.come())))
    stop = StopPort(pty.stop(b"halt", b"stay"))
    stop.begin(NOW_NS)
    while stop.due_ns != NEVER_NS:
        stop.send(stop.due_ns)
    assert flushed == [(termios.TCOFLUSH, b"")]
    assert pty.come() == b"haltstay"
    stop.close()


def test_frames_follow_each_other_after_their_time_on_the_line_and_a_pause(pty):
    stop = StopPort(pty.stop(b"halt", b"stay", pause_s=0.011))
    stop.begin(NOW_NS)
    assert stop.send(NOW_NS)
    assert stop.due_ns == pytest.approx(NOW_NS + 4 * BYTE_NS + 11 * MS, abs=10, rel=0)
    assert not stop.send(stop.due_ns - 1)
    assert pty.come() == b"halt"
    assert stop.send(stop.due_ns)
    assert pty.come() == b"stay"
    assert not stop.send(stop.due_ns)
    assert stop.due_ns == NEVER_NS


def test_a_port_that_was_plugged_in_again_is_opened_again_for_the_stop(pty):
    stop = StopPort(pty.stop(b"halt"))
    pty.disconnect()
    stop.look()
    pty.reconnect()
    stop.begin(NOW_NS)
    assert stop.send(NOW_NS)
    assert pty.come() == b"halt"


def test_a_port_that_is_gone_is_told_and_its_stop_stays_due(pty):
    stop = StopPort(pty.stop(b"halt"))
    pty.disconnect()
    stop.begin(NOW_NS)
    for _ in range(2):  # on the old descriptor, and on none
        with pytest.raises(LinkLostError, match="thing"):
            stop.send(NOW_NS)
    assert stop.due_ns == NOW_NS
    pty.reconnect()
    assert stop.send(NOW_NS)


@pytest.mark.parametrize("cut", range(1, 14))
def test_controllers_hear_the_stop_after_any_part_of_a_packet_that_the_flush_cut_off(cut):
    """The first copy may be taken for the rest of that packet; the second comes after a packet's gap."""
    listener = Listener()
    listener.receive(protocol.request(0x80, CommandCode.RUN, 9, 9)[:cut], 0, cut * BYTE_NS)
    frame = b"".join(protocol.request(address, CommandCode.DUTY, 0, 0) for address in (0x80, 0x81, 0x82))
    requests, at_ns = [], cut * BYTE_NS
    for _ in range(2):
        ended_ns = at_ns + len(frame) * BYTE_NS
        requests = listener.receive(frame, at_ns, ended_ns)
        at_ns = ended_ns + round(1.1 * protocol.GAP_NS)
    assert [(one.address, one.values) for one in requests] == [(0x80, (0, 0)), (0x81, (0, 0)), (0x82, (0, 0))]
