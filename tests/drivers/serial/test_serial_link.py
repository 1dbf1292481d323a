"""Requests and answers over a pty whose other end belongs to the test."""

import os
import pty
import threading
import time
import tty

import pytest

from drivers.host import HostComputer
from drivers.interfaces import DamagedError, LinkLostError
from drivers.serial.link import BadFrameError, SerialLink

TIMEOUT_S = 30.0  # nothing here waits for it: silence is tested in virtual time


def missing(answer):
    return max(4 - len(answer), 0)


def decode(answer):
    if not answer.startswith(b"ok"):
        raise BadFrameError(f"got {answer!r}")
    return answer


class At(HostComputer):
    """This computer, with a clock set by the test."""

    def __init__(self, now_ns):
        self.now_ns = now_ns


class Peer:
    """Answers the n-th request with the n-th item of `script`: bytes, or several parts and pauses between them [s].

    Further requests are answered with `usual`.
    """

    def __init__(self, script, usual=b"ok.."):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        self.slave = slave
        self.script, self.usual = list(script), usual
        self.received = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                data = os.read(self.master, 4096)
            except OSError:
                return
            if data == b"end":
                return
            self.received.append(data)
            item = self.script.pop(0) if self.script else self.usual
            for part in [item] if isinstance(item, bytes) else item:
                if isinstance(part, bytes):
                    os.write(self.master, part)
                else:
                    time.sleep(part)

    def disconnect(self):
        os.write(self.slave, b"end")
        self.thread.join()
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def meet():
    """Makes a peer and an open link to it."""
    made = []

    def make(script, usual=b"ok..", **options):
        peer = Peer(script, usual)
        link = SerialLink("thing", peer.path, 115200, timeout_s=TIMEOUT_S, **options)
        link.open()
        made.append((peer, link))
        return peer, link

    yield make
    for peer, link in made:
        link.close()
        if peer.thread.is_alive():
            peer.disconnect()


def test_an_answer_is_decoded(meet):
    _, link = meet([b"ok12"])
    assert link.ask(b"what", missing, decode) == b"ok12"
    assert (link.errors, link.retries, link.unsolicited_bytes) == (0, 0, 0)


def test_an_answer_may_come_in_pieces(meet):
    _, link = meet([(b"o", 0.005, b"k1", 0.005, b"2")])
    assert link.ask(b"what", missing, decode) == b"ok12"


def test_a_damaged_answer_is_asked_for_once_more(meet):
    peer, link = meet([b"ko12", b"ok34"])
    assert link.ask(b"what", missing, decode) == b"ok34"
    assert (link.errors, link.retries) == (1, 1)
    assert peer.received == [b"what", b"what"]


def test_damaged_twice_is_given_up(meet):
    _, link = meet([b"ko12", b"ko34"])
    with pytest.raises(DamagedError, match=r"thing on /dev/.*got b'ko34', twice"):
        link.ask(b"what", missing, decode)


def test_three_damaged_of_ten_are_given_up_and_a_good_answer_after_them_is_good(meet):
    """A stop has to be confirmed on a bad line too."""
    _, link = meet([b"ko..", b"ok..", b"ko..", b"ok..", b"ko..", b"ok77"])
    link.ask(b"a", missing, decode)
    link.ask(b"b", missing, decode)
    with pytest.raises(DamagedError, match="3 of the last 5 answers damaged, allowed: 2 of 10"):
        link.ask(b"c", missing, decode)
    assert link.ask(b"d", missing, decode) == b"ok77"


def test_two_damaged_are_forgotten_after_ten(meet):
    _, link = meet([b"ko..", b"ok..", b"ko..", *[b"ok.."] * 9, b"ko..", b"ok..", b"ko..", b"ok.."])
    for _ in range(13):
        link.ask(b"a", missing, decode)
    assert link.errors == 4


def test_opened_again_it_counts_damage_anew(meet):
    _, link = meet([b"ko..", b"ok..", b"ko..", b"ok..", b"ko..", b"ok.."])
    link.ask(b"a", missing, decode)
    link.ask(b"b", missing, decode)
    link.open()
    assert link.ask(b"c", missing, decode) == b"ok.."


def test_what_came_unasked_is_counted_and_not_taken_for_an_answer(meet):
    _, link = meet([b"ok12ok13", b"ok34"])
    link.ask(b"a", missing, decode)
    while link._serial.in_waiting < 4:
        time.sleep(0.001)
    assert link.ask(b"b", missing, decode) == b"ok34"
    assert link.unsolicited_bytes == 4


def test_a_posted_request_is_written_once_and_answered_later(meet):
    peer, link = meet([b"ok12"])
    link.post(b"what")
    while not peer.received:
        time.sleep(0.001)
    assert link.ask(b"what", missing, decode) == b"ok12"
    assert peer.received == [b"what"]
    link.ask(b"what", missing, decode)
    assert peer.received == [b"what", b"what"]


def test_another_request_than_the_posted_one_is_written(meet):
    peer, link = meet([b"", b"ok34"])
    link.post(b"what")
    while not peer.received:
        time.sleep(0.001)
    assert link.ask(b"else", missing, decode) == b"ok34"
    assert peer.received == [b"what", b"else"]


def test_the_last_byte_leaves_after_the_line_time_of_the_request(meet):
    times = iter(range(0, 10**9, 1000))
    _, link = meet([], host=At(lambda: next(times)))
    link.ask(b"x" * 24, missing, decode)
    assert link.sent_ns % 1000 == link.line_ns(24) % 1000
    assert link.line_ns(24) == 24 * 10 * 10**9 // 115200


def test_a_port_that_hangs_up_is_named_and_closed(meet):
    peer, link = meet([])
    peer.disconnect()
    with pytest.raises(LinkLostError, match=r"thing: /dev/pts/\d+ is gone .*unplugged"):
        link.ask(b"what", missing, decode)
    assert not link.health("").open
    with pytest.raises(LinkLostError, match="not open"):
        link.ask(b"what", missing, decode)
    with pytest.raises(LinkLostError, match="not open"):
        link.post(b"what")


def test_posting_to_a_port_that_hung_up_says_so(meet):
    peer, link = meet([])
    peer.disconnect()
    with pytest.raises(LinkLostError, match="is gone"):
        link.post(b"what")


def test_a_port_that_another_has_is_busy(meet):
    peer, link = meet([])
    with pytest.raises(LinkLostError, match=r"other: /dev/.*: the port is busy"):
        SerialLink("other", peer.path, 115200, timeout_s=TIMEOUT_S).open()
    link.close()
    SerialLink("other", peer.path, 115200, timeout_s=TIMEOUT_S).open()


def test_a_port_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LinkLostError, match=r"thing: .*nothing: there is no such port; `hil devices` lists"):
        SerialLink("thing", str(tmp_path / "nothing"), 115200, timeout_s=TIMEOUT_S).open()


def test_health_tells_age_errors_and_retries(meet):
    now_ns = [10**9]
    _, link = meet([b"ko..", b"ok.."], host=At(lambda: now_ns[0]))
    link.ask(b"a", missing, decode)
    now_ns[0] += 5_000_000
    health = link.health("fine")
    assert (health.device, health.open, health.errors, health.detail, health.retries) == ("thing", True, 1, "fine", 1)
    assert health.age_ms == pytest.approx(5.0)


def test_it_may_be_closed_twice_and_before_it_was_open():
    link = SerialLink("thing", "/nowhere", 115200, timeout_s=TIMEOUT_S)
    link.close()
    link.close()
    assert not link.health("").open
