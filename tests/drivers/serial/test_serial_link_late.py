"""Late and leftover bytes on a serial line, in virtual time."""

from itertools import pairwise

import pytest

from drivers.interfaces import LinkLostError
from drivers.serial.link import BadFrameError, SerialLink

TIMEOUT_S = 0.03


def missing(answer):
    return max(4 - len(answer), 0)


def decode(answer):
    if not answer.startswith(b"ok"):
        raise BadFrameError(f"got {answer!r}")
    return answer


class ScriptedPort:
    """A host in virtual time and its port: a read returns bytes of the next part, b"" for 4 ms without a byte."""

    in_waiting = 0

    def __init__(self, *parts):
        self.parts, self.t_ns = list(parts), 0
        self.written = []

    def now_ns(self):
        return self.t_ns

    def sleep(self, seconds):
        self.t_ns += round(seconds * 1e9)

    def open_serial(self, port, baud, characters):
        return self

    def write(self, data):
        self.written.append(data)
        return len(data)

    def read(self, count):
        part = self.parts.pop(0) if self.parts else b""
        if part[count:]:
            self.parts.insert(0, part[count:])
        self.t_ns += 0 if part else 4_000_000
        return part[:count]

    def close(self):
        pass


@pytest.fixture
def script():
    def make(*parts, **options):
        port = ScriptedPort(*parts)
        link = SerialLink("thing", "/nowhere", 115200, timeout_s=TIMEOUT_S, host=port, **options)
        link.open()
        return link

    return make


def test_silence_is_waited_for_twice_and_then_the_link_is_lost(script):
    link = script()
    port = link._serial
    with pytest.raises(LinkLostError, match=r"no answer within 30 ms, twice; check cable.*parity"):
        link.ask(b"what", missing, decode)
    assert port.written == [b"what", b"what"]
    assert link.errors == 2


def test_half_an_answer_is_silence_too(script):
    link = script(b"ok", *[b""] * 8, b"ok1")
    with pytest.raises(LinkLostError, match="3 bytes of one, twice"):
        link.ask(b"what", missing, decode)


def test_it_says_that_it_is_alive_in_each_slice_that_it_waits(script):
    calls = []
    link = script(alive=lambda: calls.append(link._serial.t_ns))
    with pytest.raises(LinkLostError):
        link.ask(b"what", missing, decode)
    gaps_ns = [later - sooner for sooner, later in pairwise([0, *calls])]
    assert max(gaps_ns) <= 4_000_000
    assert calls[-1] >= 2 * round(TIMEOUT_S * 1e9)  # to the end of the second try


def test_an_answer_after_its_timeout_is_not_taken_for_that_of_the_next_request(script):
    """It answers the second try, and that answer must not count for the next request."""
    link = script(*[b""] * 8, b"ok-a", b"ok-a", b"", b"ok-b")
    assert link.ask(b"a", missing, decode) == b"ok-a"
    assert link.ask(b"b", missing, decode) == b"ok-b"
    assert (link.retries, link.unsolicited_bytes) == (1, 4)


def test_the_rest_of_a_damaged_answer_is_not_taken_for_the_retry(script):
    link = script(b"ko..", b"ok-r", b"est!", b"", b"ok12")
    assert link.ask(b"a", missing, decode) == b"ok12"
    assert link.unsolicited_bytes == 8


def test_a_line_that_never_falls_silent_is_not_waited_for_for_ever(script):
    link = script(b"ko..", *[b"", b"x"] * 3)
    with pytest.raises(LinkLostError):
        link.ask(b"a", missing, decode)


def test_an_answer_that_waits_is_taken_however_late_we_look(script):
    """A worker that the system had stopped finds the answer where it is."""
    link = script(b"o", b"k1", b"2")
    port = link._serial

    def stopped_for_a_while():
        port.t_ns += 10**9
        port.in_waiting = len(b"".join(port.parts))

    link._alive = stopped_for_a_while
    assert link.ask(b"a", lambda answer: min(missing(answer), 1), decode) == b"ok12"
    assert link.retries == 0
