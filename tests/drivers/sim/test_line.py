"""A simulated serial line: its line time and its faults, in virtual time."""

import os
import select
import threading
import time
from pathlib import Path

import pytest

from drivers.sim.protocol.line import NOISE, Line, LineFault, serve_lines

BYTE_NS = 10 * 10**9 // 9600
TURNAROUND_NS = 500_000
NEVER_NS = 2**62


class Echo:
    """Echoes all it receives, and records the events in order."""

    def __init__(self):
        self.happened = []

    def receive(self, data, began_ns, ended_ns):
        self.happened.append(("receive", began_ns, ended_ns, data))
        return data

    def wake(self, now_ns):
        self.happened.append(("wake", now_ns))
        return NEVER_NS

    def received(self):
        return [item[1:] for item in self.happened if item[0] == "receive"]


class Bench:
    def __init__(self, folder):
        self.device = Echo()
        self.line = Line(folder / "port", self.device, 9600, TURNAROUND_NS)
        self.port = os.open(self.line.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self.now_ns = 10**9

    def send(self, data):
        os.write(self.port, data)
        self.line.serve(self.now_ns)

    def come(self):
        try:
            return os.read(self.port, 4096)
        except BlockingIOError:
            return b""

    def at(self, later_ns):
        """Bytes that have arrived so long after the sending [ns]."""
        self.line.serve(self.now_ns + later_ns)
        return self.come()

    def close(self):
        os.close(self.port)
        self.line.close()


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def test_its_port_is_for_its_owner_only(bench, tmp_path):
    assert bench.line.path.stat().st_mode & 0o777 == 0o600
    assert bench.line.path.owner() == Path("/proc/self").owner()


THERE_AND_BACK_NS = 8 * BYTE_NS + TURNAROUND_NS  # of 4 bytes


def test_bytes_take_the_line_time_of_the_baud_rate(bench):
    bench.send(b"abcd")
    assert bench.at(4 * BYTE_NS - 1) == b""
    assert bench.device.received() == []
    assert bench.at(THERE_AND_BACK_NS - 1) == b""
    assert bench.device.received() == [(bench.now_ns, bench.now_ns + 4 * BYTE_NS, b"abcd")]
    assert bench.at(THERE_AND_BACK_NS) == b"abcd"


def test_requests_written_at_once_follow_one_another_on_the_line(bench):
    bench.send(b"abcd")
    bench.send(b"ef")
    bench.at(6 * BYTE_NS)
    (_, first_ended_ns, _), (second_began_ns, second_ended_ns, _) = bench.device.received()
    assert second_began_ns == first_ended_ns
    assert second_ended_ns == bench.now_ns + 6 * BYTE_NS


def test_it_says_when_something_is_due_next(bench):
    assert bench.line.serve(bench.now_ns) == NEVER_NS
    os.write(bench.port, b"abcd")
    assert bench.line.serve(bench.now_ns) == bench.now_ns + 4 * BYTE_NS
    assert bench.line.serve(bench.now_ns + 4 * BYTE_NS) == bench.now_ns + THERE_AND_BACK_NS


def test_the_device_lives_through_its_times_in_their_order(bench):
    """A time-out that is checked after a request must take the request into account."""
    bench.send(b"abcd")
    bench.at(4 * BYTE_NS + 7_000_000)
    ended_ns = bench.now_ns + 4 * BYTE_NS
    assert bench.device.happened[-3:] == [
        ("wake", ended_ns),
        ("receive", bench.now_ns, ended_ns, b"abcd"),
        ("wake", ended_ns + 7_000_000),
    ]


def test_a_delayed_answer_comes_so_much_later(bench):
    bench.line.inject_fault(LineFault("delayed", ms=20.0))
    bench.send(b"abcd")
    assert bench.at(THERE_AND_BACK_NS + 19_999_999) == b""
    assert bench.at(THERE_AND_BACK_NS + 20_000_000) == b"abcd"


def test_a_dropped_answer_never_comes_and_the_next_one_does(bench):
    bench.line.inject_fault(LineFault("intermittent"))
    bench.send(b"abcd")
    assert bench.at(10**9) == b""
    bench.now_ns += 2 * 10**9
    bench.send(b"efgh")
    assert bench.at(THERE_AND_BACK_NS) == b"efgh"


def test_a_flipped_answer_differs_in_one_bit(bench):
    bench.line.inject_fault(LineFault("garbage"))
    bench.send(b"abcd")
    come = bench.at(THERE_AND_BACK_NS)
    assert sum((one ^ other).bit_count() for one, other in zip(come, b"abcd", strict=True)) == 1


def test_a_split_answer_comes_in_two_parts(bench):
    bench.line.inject_fault(LineFault("slow", ms=20.0))
    bench.send(b"abcd")
    assert bench.at(THERE_AND_BACK_NS) == b"ab"
    assert bench.at(6 * BYTE_NS + TURNAROUND_NS + 20_000_000) == b"cd"


def test_a_duplicate_answer_comes_twice_one_after_the_other(bench):
    bench.line.inject_fault(LineFault("duplicate"))
    bench.send(b"abcd")
    assert bench.at(THERE_AND_BACK_NS) == b"abcd"
    assert bench.at(THERE_AND_BACK_NS + 4 * BYTE_NS) == b"abcd"


def test_requests_can_be_spoiled_instead_of_answers(bench):
    bench.line.inject_fault(LineFault("intermittent", requests=True))
    bench.send(b"abcd")
    bench.at(10**9)
    assert bench.device.received() == []


def test_it_misbehaves_as_often_as_told(bench):
    bench.line.inject_fault(LineFault("intermittent", count=2))
    come = []
    for _ in range(3):
        bench.send(b"abcd")
        come.append(bench.at(10**9))
        bench.now_ns += 2 * 10**9
    assert come == [b"", b"", b"abcd"]


def test_dead_it_neither_hears_nor_answers_until_plugged_in(bench):
    bench.line.inject_fault(LineFault("off"))
    bench.send(b"abcd")
    assert bench.at(10**9) == b""
    assert bench.device.received() == []
    bench.now_ns += 2 * 10**9
    bench.line.inject_fault(LineFault("reconnect"))
    bench.send(b"efgh")
    assert bench.at(THERE_AND_BACK_NS) == b"efgh"


def test_hung_up_the_port_is_gone_and_plugged_in_it_is_back_under_its_name(bench):
    bench.line.inject_fault(LineFault("disconnect"))
    assert not bench.line.path.is_symlink()
    assert bench.line.serve(bench.now_ns) == NEVER_NS
    with pytest.raises(OSError, match=r"."):
        os.write(bench.port, b"abcd")
    bench.line.inject_fault(LineFault("reconnect"))
    os.close(bench.port)
    bench.port = os.open(bench.line.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    bench.send(b"efgh")
    assert bench.at(THERE_AND_BACK_NS) == b"efgh"


def test_hung_up_its_device_still_lives(bench):
    """So that its time-outs run when the host is dead."""
    bench.line.inject_fault(LineFault("disconnect"))
    bench.line.serve(bench.now_ns)
    assert bench.device.happened[-1] == ("wake", bench.now_ns)


def test_what_was_under_way_when_it_was_hung_up_is_lost(bench):
    bench.send(b"abcd")
    bench.line.inject_fault(LineFault("disconnect"))
    bench.line.inject_fault(LineFault("reconnect"))
    bench.line.serve(bench.now_ns + 10**9)
    assert bench.device.received() == []


def test_it_can_be_hung_up_and_plugged_in_by_another_thread_while_it_is_served(tmp_path):
    line = Line(tmp_path / "port", Echo(), 115200)
    going, failed = [True], []

    def serve():
        try:
            serve_lines([line], time.monotonic_ns, lambda: going[0])
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    for _ in range(300):
        line.inject_fault(LineFault("disconnect"))
        line.inject_fault(LineFault("reconnect"))
    going[0] = False
    thread.join()
    line.close()
    assert failed == []


def test_of_so_many_answers_one_is_spoiled_the_last(bench):
    bench.line.inject_fault(LineFault("intermittent", count=2, every=3))
    found = []
    for _ in range(8):
        bench.send(b"abcd")
        found.append(bench.at(THERE_AND_BACK_NS))
        bench.now_ns += 2 * THERE_AND_BACK_NS
    assert found == [b"abcd", b"abcd", b"", b"abcd", b"abcd", b"", b"abcd", b"abcd"]


def test_noise_comes_before_an_answer_and_takes_its_line_time(bench):
    bench.line.inject_fault(LineFault("noise"))
    bench.send(b"abcd")
    later_ns = len(NOISE) * BYTE_NS
    assert bench.at(THERE_AND_BACK_NS + later_ns - 1) == b""
    assert bench.at(THERE_AND_BACK_NS + later_ns) == NOISE + b"abcd"


def test_a_truncated_answer_ends_after_its_first_half(bench):
    bench.line.inject_fault(LineFault("truncated"))
    bench.send(b"abcd")
    assert bench.at(10**9) == b"ab"


def test_plugged_in_it_behaves_again(bench):
    bench.line.inject_fault(LineFault("intermittent", count=100))
    bench.line.inject_fault(LineFault("reconnect"))
    bench.send(b"abcd")
    assert bench.at(THERE_AND_BACK_NS) == b"abcd"


def test_an_answer_that_leaves_late_says_when_it_was_due(tmp_path):
    times = []
    line = Line(tmp_path / "port", Echo(), 9600, TURNAROUND_NS, answered=lambda *when: times.append(when))
    port = os.open(line.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    os.write(port, b"abcd")
    line.serve(10**9)
    line.serve(10**9 + THERE_AND_BACK_NS + 14_000_000)
    os.close(port)
    line.close()
    assert times == [(10**9 + THERE_AND_BACK_NS, 10**9 + THERE_AND_BACK_NS + 14_000_000)]


def test_a_delay_that_was_asked_for_is_part_of_when_an_answer_is_due(tmp_path):
    times = []
    line = Line(tmp_path / "port", Echo(), 9600, TURNAROUND_NS, answered=lambda *when: times.append(when))
    port = os.open(line.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    line.inject_fault(LineFault("delayed", ms=100.0))
    os.write(port, b"abcd")
    line.serve(10**9)
    for later_ns in (THERE_AND_BACK_NS, THERE_AND_BACK_NS + 100_000_000):
        line.serve(10**9 + later_ns)
    os.close(port)
    line.close()
    assert times == [(10**9 + THERE_AND_BACK_NS + 100_000_000,) * 2]


def test_a_server_of_lines_that_is_not_let_run_says_when_it_was_to_look_again(tmp_path):
    line = Line(tmp_path / "port", Echo(), 9600)
    now_ns = iter([0, 0, 100, 14_000_000, 14_000_100])
    turns, times = iter([True, True, False]), []
    serve_lines([line], lambda: next(now_ns), lambda: next(turns), lambda *when: times.append(when))
    line.close()
    # it began at 0, had served all lines at 100, and was to look again 4 ms after that
    assert times == [(0, 100), (100 + 4_000_000, 14_000_100)]


class Ticker(Echo):
    """Sends a byte each ten milliseconds without being asked."""

    def __init__(self):
        super().__init__()
        self._due_ns = None

    def wake(self, now_ns):
        self._due_ns = self._due_ns or now_ns
        return self._due_ns

    def unasked(self, now_ns):
        sent = []
        while self._due_ns <= now_ns:
            sent.append((self._due_ns, b"t"))
            self._due_ns += 10_000_000
        return sent


def arrived(port, count):
    """At least so many bytes: the system hands on one after the other, each in its own time."""
    found = b""
    while len(found) < count and select.select([port], [], [], 10.0)[0]:
        found += os.read(port, 10)
    return found


def test_a_device_sends_unasked_from_when_its_line_is_served(tmp_path):
    line = Line(tmp_path / "port", Ticker(), 9600, TURNAROUND_NS)
    port = os.open(line.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    start_ns = 10**9
    line.serve(start_ns)
    with pytest.raises(BlockingIOError):  # its line time is not over
        os.read(port, 10)
    line.serve(start_ns + BYTE_NS)
    assert arrived(port, 1) == b"t"
    line.serve(start_ns + 35_000_000)
    assert arrived(port, 3) == b"ttt"
    with pytest.raises(BlockingIOError):
        os.read(port, 10)
    os.close(port)
    line.close()


def test_a_streaming_device_that_is_off_sends_nothing(tmp_path):
    line = Line(tmp_path / "port", Ticker(), 9600, TURNAROUND_NS)
    port = os.open(line.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    line.inject_fault(LineFault("off"))
    line.serve(10**9)
    line.serve(10**9 + 35_000_000)
    with pytest.raises(BlockingIOError):
        os.read(port, 10)
    os.close(port)
    line.close()
