"""A serial port on which a device sends messages unasked: framing, arrival times, damage and silence.

A message gets the time when its first byte began on the line: that of the look which found it, less the line time of
all that had come since that byte. This is never too early; it is too late by what the bytes waited unread, some 0.1 ms
where `PollTimes` follows the device's rhythm.

When to look at a port to which messages come at a steady rate, so that about one look a message is enough.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeVar

from drivers.host import COMPUTER, LOOK_S, Alive, Host, SerialPort, line_time_ns
from drivers.interfaces import BadFrameError, DamageCount, Health, LinkLostError
from drivers.messages import Reading
from drivers.serial.link import GONE, gone_error, open_port

# A message that is there at the first look is looked for sooner the next time, and twice as much sooner each time [ns].
SOONER_NS = 20_000
# One that is not there is looked for again after so long, and after twice as long each time [ns].
LATER_NS = 100_000
# So long after the time when it was there in the period before, a message counts as missing [ns]. The next one is
# awaited at its time; if that is missing too, the next one is searched for.
PATIENT_NS = 600_000
# Looks of a search are a quarter of a period apart, and at least and at most so far [ns].
LEAST_SEARCH_NS, MOST_SEARCH_NS = 500_000, 4_000_000


class PollTimes:
    """Times of the looks.

    A wake-up is dear on a small virtual machine, and a message that waits unread gets too late a time stamp. So the
    device's rhythm is followed: a look is a period after the last one that found a message, or a little sooner.

    Args:
        period_ns: of the messages [ns].

    Attributes:
        due_ns: of the next look [ns].

    Example:
        >>> looks = PollTimes(5_000_000)
        >>> looks.begin(0)
        >>> looks.came(1_000_000)  # found, after a search
        >>> looks.due_ns
        6000000
        >>> looks.came(6_050_000)  # the look was 50 us late: the next one is not
        >>> looks.due_ns
        10980000
    """

    def __init__(self, period_ns: int) -> None:
        self._period_ns = period_ns
        self._search_ns = min(max(period_ns // 4, LEAST_SEARCH_NS), MOST_SEARCH_NS)
        self.begin(0)

    def begin(self, now_ns: int) -> None:
        """Nothing is known of the rhythm: search."""
        self.due_ns = self._aim_ns = self._there_ns = now_ns
        self._sooner_ns, self._looked, self._missing = SOONER_NS, 0, 2

    def came(self, now_ns: int) -> None:
        """A look has found one message, or several."""
        if self._looked or self._missing:
            self._there_ns = now_ns if self._missing > 1 else self.due_ns
            self._sooner_ns = 0
        else:
            self._there_ns = self._aim_ns
            self._sooner_ns = min(max(2 * self._sooner_ns, SOONER_NS), self._period_ns // 8)
        self._looked = self._missing = 0
        self._there_ns += self._period_ns * max(1, -((self._there_ns - now_ns) // self._period_ns))
        self.due_ns = self._aim_ns = self._there_ns - self._sooner_ns

    def missed(self, now_ns: int, missing_ns: int = 0) -> None:
        """A look has found none.

        Args:
            now_ns: time of the look [ns].
            missing_ns: line time of what is missing of a message that has begun to come [ns]; 0: none has.
        """
        self._looked += 1
        if missing_ns:
            self.due_ns = now_ns + missing_ns
        elif self._missing > 1:
            self.due_ns = now_ns + self._search_ns
        elif now_ns < self._there_ns + PATIENT_NS:
            self.due_ns = now_ns + min(LATER_NS << (self._looked - 1), MOST_SEARCH_NS)
        else:
            self._missing, self._looked = self._missing + 1, 0
            self._there_ns += self._period_ns
            self.due_ns = self._aim_ns = max(self._there_ns, now_ns)


T = TypeVar("T")
# Where the first whole message in some bytes begins and ends; None: there is none yet.
Framing = Callable[[bytes], tuple[int, int] | None]
# A device that is silent for so many periods, and at least so long [ns], is lost. Long before that its newest reading
# is stale, which is for the loop to judge; a machine may stand still for 150 ms.
SILENT_PERIODS, LEAST_SILENT_NS = 20, 500_000_000
# Longest rest [s]: in between the worker shows that it is alive. A device that sends 200 times a second is awaited at
# one go.
REST_S = 0.006
# How often a request is made.
TRIES = 2
# At opening, what the port still holds is discarded: at most so many pieces.
MOST_OLD = 64
RECENT = 20  # messages whose rate is reported


class Message(NamedTuple):
    """A whole message.

    Attributes:
        data: its bytes, with those that mark its beginning and its end.
        number: counts messages from 1, the damaged ones too.
        began_ns: when its first byte began on the line [ns].
        arrived_ns: when it was read [ns].
    """

    data: bytes
    number: int
    began_ns: int
    arrived_ns: int


def lines(start: bytes = b"", end: bytes = b"\n") -> Framing:
    r"""Messages that end with a byte, and begin with the last byte of another kind before that; b"": where one ended.

    Example:
        >>> lines(b"$")(b"+0.1$VNIMU,1*2A\r\n$VN")
        (4, 17)
        >>> lines(b"$")(b"$VNIM") is None
        True
    """

    def first(data: bytes) -> tuple[int, int] | None:
        ends = data.find(end) + 1
        return (max(data.rfind(start, 0, ends), 0) if start else 0, ends) if ends else None

    return first


class ListeningLink:
    """One serial port on which a device sends messages by itself, and answers requests amid them.

    Args:
        device: name for messages.
        port: path of the port.
        baud: its speed.
        framing: finds the first whole message in what has come.
        take: called with each whole message that is no answer; whether it is one of those that are listened for; raises
            BadFrameError: it is damaged.
        period_ns: of the messages [ns].
        longest: bytes of a message, at most.
        timeout_s: how long an answer may take, line time included.
        host: whose clock and ports are used.
        alive: called while an answer is awaited, every few ms.

    Attributes:
        errors: damaged messages, and requests without an answer.
        retries: requests made twice.
    """

    def __init__(
        self,
        device: str,
        port: str,
        baud: int,
        framing: Framing,
        take: Callable[[Message], bool],
        *,
        period_ns: int,
        longest: int,
        timeout_s: float = 0.5,
        host: Host = COMPUTER,
        alive: Alive = lambda: None,
    ) -> None:
        self.device, self.port, self.baud = device, port, baud
        self._framing, self._take, self._longest = framing, take, longest
        self._timeout_ns, self._host, self._alive = round(timeout_s * 1e9), host, alive
        self._byte_ns = line_time_ns(1, baud)
        self._silent_ns = max(SILENT_PERIODS * period_ns, LEAST_SILENT_NS)
        self._looks = PollTimes(period_ns)
        self._damage = DamageCount(f"{device} on {port}", "messages")
        self._serial: SerialPort | None = None
        self._recent: deque[int] = deque(maxlen=RECENT)
        self._data, self._bound_ns, self._read_ns = b"", 0, 0
        self._number = self._heard_ns = self._length = 0
        self._judges, self._newest_damage = False, ""
        self.errors = self.retries = 0

    def open(self) -> None:
        """Open the port exclusively, and discard what has come so far. Raises LinkLostError."""
        self.close()
        self._serial = open_port(self._host, self.device, self.port, self.baud)
        try:
            for _ in range(MOST_OLD):
                if not (waiting := self._serial.in_waiting):
                    break
                self._serial.read(waiting)
        except GONE as error:
            raise self._gone(error) from error
        self._data, self._number, self._judges = b"", 0, False
        self._recent.clear()

    def begin(self) -> None:
        """The device is set up, and sends: from now on messages are counted, and silence and damage are failures."""
        self._judges, self._number = True, 0
        self._damage.forget()
        self._heard_ns = self._host.now_ns()
        self._looks.begin(self._heard_ns)

    def close(self, last: bytes = b"") -> None:
        """Close the port; before that, send a last command if there still is a port."""
        if self._serial is not None:
            with suppress(*GONE):
                if last:
                    self._serial.write(last)
            with suppress(*GONE):
                self._serial.close()
            self._serial = None

    def health(self, detail: str) -> Health:
        """Returns the state of the link; `detail` is what the device reports."""
        spans = len(self._recent) - 1
        spanned_ns = self._recent[-1] - self._recent[0] if spans > 0 else 0
        rate_hz = spans * 1e9 / spanned_ns if spanned_ns > 0 else float("nan")
        age_ms = (self._host.now_ns() - self._heard_ns) * 1e-6 if self._recent else float("nan")
        return Health(
            self.device, self._serial is not None, self.errors, detail, self.retries, rate_hz=rate_hz, age_ms=age_ms
        )

    def step(self) -> None:
        """Rest until the next message can be there, and take what has come.

        Raises:
            LinkLostError: the port is lost, or the device silent.
            DamagedError: 3 of the last 10 messages were damaged.
        """
        left_ns = self._looks.due_ns - self._host.now_ns()
        if left_ns > 0:
            self._host.rest(min(left_ns * 1e-9, REST_S))
            if self._host.now_ns() < self._looks.due_ns:
                return
        self._read()
        came = False
        while (message := self._next()) is not None:
            came = True
            self._pass(message)
        if came:
            self._looks.came(self._read_ns)
        else:
            missing = max(self._length - len(self._data), 1) if self._data else 0
            self._looks.missed(self._read_ns, missing * self._byte_ns)
        if (silent_ns := self._read_ns - self._heard_ns) > self._silent_ns:
            raise LinkLostError(
                f"{self.device} on {self.port}: no message for {silent_ns * 1e-6:.0f} ms, allowed: "
                f"{self._silent_ns * 1e-6:g} ms; check its power and cable, and that nothing has changed what it sends"
            )

    def ask(self, request: bytes, decode: Callable[[bytes], T | None]) -> T:
        """Send a request and await its answer; other messages that come meanwhile are taken. Made twice at most.

        Args:
            request: all bytes of it.
            decode: value of an answer, or None: the message is another one; raises BadFrameError: it is damaged, and a
                DeviceError: the device refuses.

        Raises:
            LinkLostError: no answer twice, or the port is lost.
            DeviceError: that of `decode`.
        """
        self._newest_damage = ""
        for attempt in range(TRIES):
            self.retries += attempt
            self.send(request)
            until_ns = self._host.now_ns() + self._timeout_ns
            over = False
            while not over:
                over = self._host.now_ns() >= until_ns  # what has come while this process was kept waiting is looked at
                self._read()
                while (message := self._next()) is not None:
                    try:
                        if (value := decode(message.data)) is not None:
                            return value
                        self._take(message)
                    except BadFrameError as error:
                        self._newest_damage = str(error)
                self._host.sleep(LOOK_S)
                self._alive()
            self.errors += 1
        raise LinkLostError(
            f"{self.device} on {self.port}: no answer to {request.decode('ascii', 'replace').strip()} within "
            f"{self._timeout_ns * 1e-6:g} ms, twice; {self._what_came()}"
        )

    def send(self, request: bytes) -> None:
        """Send a command that is not answered. Raises LinkLostError."""
        if self._serial is None:
            raise LinkLostError(f"{self.device} on {self.port}: not open")
        try:
            self._serial.write(request)
        except GONE as error:
            raise self._gone(error) from error

    def _what_came(self) -> str:
        """Returns what was received in place of an answer, and what to do."""
        if self._newest_damage or self._data:
            found = f"damaged: {self._newest_damage}" if self._newest_damage else f"{len(self._data)} bytes, no message"
            return f"the answer is {found}; check the baud rate, {self.baud} here, and the characters set in the device"
        if self._number:
            return "messages came, but no answer: check the wire to the device (TX of the computer to its RX)"
        return f"nothing came: check its power, the cable, and the baud rate, {self.baud} here"

    def _read(self) -> None:
        """Add what has come. Raises LinkLostError."""
        if self._serial is None:
            raise LinkLostError(f"{self.device} on {self.port}: not open")
        try:
            waiting = self._serial.in_waiting
            self._read_ns = self._host.now_ns()
            come = self._serial.read(waiting) if waiting else b""
        except GONE as error:
            raise self._gone(error) from error
        if come:
            bound_ns = self._read_ns - (len(self._data) + len(come)) * self._byte_ns
            self._bound_ns = min(self._bound_ns, bound_ns) if self._data else bound_ns
            self._data += come

    def _next(self) -> Message | None:
        """Remove the first whole message from what has come, and what is before it."""
        while (found := self._framing(self._data)) is None:
            if len(self._data) <= self._longest:
                return None
            length, self._data = len(self._data), b""
            self._number += 1
            self._damaged(f"{length} bytes without an end")
        begin, end = found
        data, rest = self._data[begin:end], self._data[end:]
        began_ns = self._read_ns - (len(self._data) - begin) * self._byte_ns if begin else self._bound_ns
        self._data, self._bound_ns = rest, self._read_ns - len(rest) * self._byte_ns
        self._number += 1
        self._length = len(data)
        return Message(data, self._number, began_ns, self._read_ns)

    def _pass(self, message: Message) -> None:
        try:
            listened_for = self._take(message)
        except BadFrameError as error:
            self._damaged(str(error))
            return
        self._damage.good()
        if listened_for:
            self._heard_ns = message.arrived_ns
            self._recent.append(message.began_ns)

    def _damaged(self, found: str) -> None:
        self._newest_damage = found
        if self._judges:
            self.errors += 1
            self._damage.damaged(found)

    def _gone(self, error: Exception) -> LinkLostError:
        self.close()
        return gone_error(self.device, self.port, error)


class StreamedInstrument:
    """An `InstrumentDevice` but for opening, closing and health; a subclass keeps the newest reading in `_reading`.

    Args:
        link: passes each message to the subclass.
    """

    def __init__(self, link: ListeningLink) -> None:
        self._link = link
        self._reading: Reading | None = None

    def step(self) -> None:
        """Rest until the next message can be there, and take what has come. Raises DeviceError."""
        self._link.step()

    def read(self, t_ns: int) -> Reading | None:  # noqa: ARG002
        """The newest reading, once."""
        reading, self._reading = self._reading, None
        return reading
