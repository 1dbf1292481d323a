"""A link that listens: framing, times, damage, silence, unplugging, requests amid messages; in virtual time."""

from itertools import pairwise

import pytest

from drivers.interfaces import DamagedError, LinkLostError
from drivers.serial.link import BadFrameError
from drivers.serial.listening import ListeningLink, lines
from drivers.sim.protocol.plant_ports import NEVER_NS
from drivers.sim.virtual.schedule import START_NS
from drivers.sim.virtual.serial import MOST_UNREAD

MS = 1_000_000
BAUD, PERIOD_NS = 115200, 10 * MS
BYTE_NS = 10 * 1_000_000_000 // BAUD
PORT = "/dev/streams"


class Ticker:
    """Sends `$` and a number each period, from 3 ms after the start; answers `?` with `$yes`, if it answers."""

    def __init__(self):
        self.sent, self.sends, self.answers, self.pending = 0, True, True, []
        self.text = "$N\n"

    def began_ns(self, number):
        return START_NS + 3 * MS + number * PERIOD_NS

    def wake(self, now_ns):
        while self.began_ns(self.sent + 1) <= now_ns:
            self.sent += 1
            if self.sends:
                self.pending.append((self.began_ns(self.sent), self.text.replace("N", f"{self.sent:07d}").encode()))
        return self.began_ns(self.sent + 1)

    def unasked(self, now_ns):
        pending, self.pending = self.pending, []
        return pending

    def receive(self, data, began_ns, ended_ns):
        return b"$yes\n" if data.endswith(b"?") and self.answers else b""


class Listener:
    def __init__(self, streams, **options):
        self.streams, self.device, self.taken = streams, Ticker(), []
        streams.connect(self.device, BAUD)
        options = {"period_ns": PERIOD_NS, "longest": 40, "host": streams.host, **options}
        self.link = ListeningLink("thing", PORT, BAUD, lines(b"$"), self.take, **options)

    def take(self, message):
        if not message.data[1:-1].isdigit() or len(message.data) != 9:
            raise BadFrameError(f"{message.data!r} is no number")
        self.taken.append(message)
        return True

    def numbers(self):
        return [int(message.data[1:-1]) for message in self.taken]

    def listen(self):
        self.link.open()
        self.link.begin()

    def step_for(self, seconds):
        until_ns = self.streams.time.now_ns + round(seconds * 1e9)
        while self.streams.time.now_ns < until_ns:
            self.link.step()


@pytest.fixture
def listener(streams):
    return Listener(streams)


def test_each_message_is_taken_once_and_in_order(listener):
    listener.listen()
    listener.step_for(1.0)
    assert listener.numbers() == list(range(1, len(listener.taken) + 1))
    assert len(listener.taken) >= 98
    assert listener.link.errors == 0


def test_a_message_has_the_time_when_its_first_byte_began_never_sooner_and_soon_after(listener):
    listener.listen()
    listener.step_for(2.0)
    late_ns = [
        message.began_ns - listener.device.began_ns(number)
        for number, message in zip(listener.numbers(), listener.taken, strict=True)
    ]
    assert min(late_ns) >= -9  # line times are whole nanoseconds a byte
    assert max(late_ns[20:]) < 400_000
    assert sorted(late_ns)[len(late_ns) // 2] < 150_000


def test_it_wakes_up_little_more_than_twice_for_a_message_each_10_ms(listener):
    """The worker must show that it is alive at least each 6 ms."""
    listener.listen()
    listener.step_for(0.5)
    before = listener.streams.rests
    listener.step_for(2.0)
    assert 400 <= listener.streams.rests - before <= 600


def test_noise_before_a_message_costs_nothing(listener):
    listener.listen()
    listener.streams.inject_fault("noise", count=50)
    listener.step_for(1.0)
    assert len(listener.taken) >= 98
    assert listener.link.errors == 0


def test_a_message_without_its_end_is_lost_and_the_next_one_is_not(listener):
    listener.listen()
    listener.step_for(0.1)
    listener.streams.inject_fault("truncated")
    last = listener.numbers()[-1]
    listener.step_for(0.1)
    assert listener.numbers()[-9:] == list(range(last + 2, last + 11))


def test_two_of_ten_damaged_messages_are_discarded_and_counted(listener):
    listener.listen()
    listener.step_for(0.1)
    listener.streams.inject_fault("garbage", count=20, every=5)
    listener.step_for(1.0)
    assert 18 <= listener.link.errors <= 20
    good = [message.number for message in listener.taken]
    assert {later - sooner for sooner, later in pairwise(good)} == {1, 2}  # a gap for each


def test_three_of_ten_damaged_messages_are_a_failure(listener):
    listener.listen()
    listener.step_for(0.1)
    listener.streams.inject_fault("garbage", count=3)
    with pytest.raises(DamagedError, match=r"thing on /dev/streams: 3 of the last 10 messages damaged.*is no number"):
        listener.step_for(1.0)


def test_bytes_without_an_end_are_damage_too(listener):
    listener.device.text = "N " * 10
    listener.listen()
    with pytest.raises(DamagedError, match="bytes without an end"):
        listener.step_for(1.0)


def test_a_device_that_falls_silent_is_lost_after_half_a_second(listener):
    listener.listen()
    listener.step_for(0.5)
    silent_ns = listener.streams.time.now_ns
    listener.device.sends = False
    with pytest.raises(LinkLostError, match=r"no message for 50\d ms, allowed: 500 ms; check its power and cable"):
        listener.step_for(5.0)
    assert 490 * MS <= listener.streams.time.now_ns - silent_ns <= 520 * MS


def test_a_slow_device_is_lost_after_20_periods(streams):
    listener = Listener(streams, period_ns=100 * MS)
    listener.device.sends = False
    listener.listen()
    began_ns = streams.time.now_ns
    with pytest.raises(LinkLostError, match="allowed: 2000 ms"):
        listener.step_for(5.0)
    assert 2000 * MS <= streams.time.now_ns - began_ns <= 2010 * MS


def test_messages_that_wait_are_taken_before_silence_is_judged(listener):
    """A worker that the system had stopped finds the messages where they are."""
    listener.listen()
    listener.step_for(0.1)
    listener.streams.host.sleep(1.0)
    listener.step_for(0.1)
    assert listener.numbers() == list(range(listener.numbers()[0], listener.numbers()[0] + len(listener.taken)))


def test_unplugged_it_is_lost_at_the_next_look_and_listens_again_when_plugged_in_and_opened(listener):
    listener.listen()
    listener.step_for(0.1)
    listener.streams.inject_fault("disconnect")
    gone_ns = listener.streams.time.now_ns
    with pytest.raises(LinkLostError, match=r"/dev/streams is gone.*is it unplugged or switched off"):
        listener.step_for(1.0)
    assert listener.streams.time.now_ns - gone_ns < 15 * MS
    with pytest.raises(LinkLostError, match="there is no such port"):
        listener.link.open()
    assert not listener.link.health("").open
    listener.streams.inject_fault("reconnect")
    listener.taken.clear()
    listener.listen()
    listener.step_for(0.5)
    assert len(listener.taken) >= 48
    assert listener.taken[0].number == 1


def test_what_came_while_nobody_read_is_not_taken_for_new(listener):
    listener.link.open()
    listener.streams.host.sleep(100.0)
    assert len(listener.streams.host.ports[PORT].to_host) <= MOST_UNREAD
    listener.link.close()
    listener.streams.host.sleep(10.0)
    assert len(listener.streams.host.ports[PORT].to_host) <= MOST_UNREAD
    listener.listen()
    opened_ns = listener.streams.time.now_ns
    listener.step_for(0.2)
    assert min(message.began_ns for message in listener.taken) > opened_ns - PERIOD_NS
    assert listener.link.errors == 0


def yes(message):
    return True if message == b"$yes\n" else None


def test_an_answer_is_found_amid_messages_and_these_are_taken(listener):
    listener.link.open()
    listener.streams.host.sleep(0.05)
    assert listener.link.ask(b"are you?", yes)
    assert len(listener.taken) >= 4
    assert listener.link.retries == 0


def test_an_answer_that_comes_while_the_process_is_kept_waiting_beyond_its_time_is_an_answer(listener, monkeypatch):
    """A machine may stand still for longer than an answer may take: what has come meanwhile is looked at."""
    listener.listen()
    send = listener.link.send

    def send_and_wait(request):
        send(request)
        listener.streams.host.sleep(0.8)

    monkeypatch.setattr(listener.link, "send", send_and_wait)
    monkeypatch.setattr(listener.link, "_timeout_ns", 0)
    assert listener.link.ask(b"are you?", yes)
    assert (listener.link.errors, listener.link.retries) == (0, 0)


def test_without_an_answer_the_request_is_made_twice_and_the_error_says_what_came(listener):
    listener.device.answers = False
    listener.link.open()
    with pytest.raises(
        LinkLostError, match=r"no answer to are you\? within 500 ms, twice; messages came, but no answer"
    ):
        listener.link.ask(b"are you?", yes)
    assert (listener.link.retries, listener.link.errors) == (1, 2)


def test_a_silent_port_is_told_from_one_with_unreadable_bytes(listener):
    listener.device.sends = listener.device.answers = False
    listener.link.open()
    with pytest.raises(
        LinkLostError, match=r"nothing came: check its power, the cable, and the baud rate, 115200 here"
    ):
        listener.link.ask(b"are you?", yes)
    listener.device.sends, listener.device.text = True, "N"
    with pytest.raises(
        LinkLostError, match=r"the answer is damaged: 42 bytes without an end; check the baud rate, 115200"
    ):
        listener.link.ask(b"are you?", yes)


def test_damage_before_it_begins_is_no_failure(listener):
    """It opens amid a message, and the device may send something else until it is set up."""
    listener.device.text = "$other N\n"
    listener.link.open()
    assert listener.link.ask(b"are you?", yes)
    listener.streams.host.sleep(0.5)
    listener.device.text = "$N\n"
    listener.streams.host.sleep(0.02)
    assert listener.link.ask(b"are you?", yes)
    listener.link.begin()
    listener.step_for(0.5)
    assert listener.link.errors == 0


def test_its_health_has_the_rate_of_good_messages_and_their_age(listener):
    listener.listen()
    assert listener.link.health("new").rate_hz != listener.link.health("new").rate_hz  # not a number yet
    listener.step_for(1.0)
    health = listener.link.health("well")
    assert (health.device, health.open, health.detail) == ("thing", True, "well")
    assert health.rate_hz == pytest.approx(100.0, rel=0.01)
    assert 0.0 <= health.age_ms <= 15.0


def test_nothing_is_due_of_a_device_that_never_sends(streams):
    class Mute(Ticker):
        def wake(self, now_ns):
            return NEVER_NS

    streams.connect(Mute(), BAUD)
    streams.host.sleep(0.1)
    assert streams.line.serve(streams.time.now_ns) == NEVER_NS
