"""The driver of a motion-capture system: Motive's stream over NatNet, to one port (unicast)."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress

from drivers.device_clock import DeviceClock
from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER, Alive, DatagramPort, Host
from drivers.interfaces import BadFrameError, DamageCount, DamagedError, DeviceError, Health, LinkLostError
from drivers.messages import Reading
from drivers.natnet import frame
from drivers.natnet.frame import NEWEST, VERSIONS, Frame, MessageKind, ServerInfo, Version, in_words, read_frame, z_up
from drivers.natnet.section import NatNetSection

NAME = "motion capture"
# A server is told so often that its client is there [ns].
KEEP_ALIVE_NS = 1_000_000_000
# A question without an answer is asked again after so long, and a silent server is asked for frames so often [ns].
ASK_AGAIN_NS = 250_000_000
# A server that says nothing about itself for so long is not there [ns].
GREET_NS = 2_000_000_000
# Datagrams taken in one step: more have come only where this process was not let run.
MOST_AT_ONCE = 200
# A frame says when it was sent. It cannot come earlier than the frames before say that it does, but for the first ones,
# which may have come late; one that claims to be so much newer [ns] is not of the server's clock.
_AHEAD_NS = 20_000_000
# Numbers of frames may leave such a gap; a larger one is of a new recording, not of frames that were lost.
MOST_LOST = 1000
# Arrivals by which the rate of frames is counted.
_COUNTED = 101


class NatNetMotion:
    """An `InstrumentDevice`.

    The time of a reading is the middle of the cameras' exposure. The server's clock is mapped to ours by when frames
    were sent and when they arrived (`DeviceClock`); the least delay of the network remains in it.

    Frames are taken from one sender, and only with times that follow its clock. Another sender, or a clock that began
    anew, is accepted once nothing that was accepted has come for ASK_AGAIN_NS. A frame of a recording that is played
    back makes a reading that is not live.

    Args:
        section: of the config.
        setup: of the rig.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        server: what the server said about itself; None: nothing yet.
        frame: the newest one.
        late: frames that came after a newer one, or twice; they are dropped.
        refused: frames of another sender on the server's computer, or with a time that cannot be; they are dropped.
    """

    def __init__(
        self, section: NatNetSection, setup: InstrumentSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._section, self._setup, self._host, self._alive = section, setup, host, alive
        self._name = f"{NAME} at {section.address}"
        self._port: DatagramPort | None = None
        self.server: ServerInfo | None = None
        self.frame: Frame | None = None
        self.late = self.refused = self._sender_port = 0
        self._version: Version | None = None
        self._clock: DeviceClock | None = None
        self._first_tick = 0
        self._asked_ns = self._told_ns = self._heard_ns = 0
        self._damage = DamageCount(self._name, "datagrams", "is it a NatNet server, and of the version that it tells?")
        self._arrivals: deque[int] = deque(maxlen=_COUNTED)
        self._reading: Reading | None = None
        self._sequence = self._errors = 0
        self._measured_ns = -1

    def open(self) -> None:
        """Open the port and find the server. Raises DeviceError."""
        self.close()
        self.server = self.frame = self._version = self._clock = self._reading = None
        self._damage.forget()
        self._arrivals.clear()
        try:
            self._port = self._host.open_datagrams(self._section.address)
        except OSError as error:
            raise LinkLostError(f"{self._name}: {error}; is the address right, and the network up?") from error
        until_ns = self._host.now_ns() + GREET_NS
        self._asked_ns = -GREET_NS
        try:
            while self._version is None:
                self._ask()
                self._receive()
                if self._host.now_ns() > until_ns:
                    raise LinkLostError(f"{self._name}: {self._unanswered()}")
        except DeviceError:
            self.close()
            raise
        self._heard_ns = self._host.now_ns()

    def close(self) -> None:
        """Tell the server and close the port."""
        if self._port is not None:
            with suppress(OSError):
                self._port.send(frame.message(MessageKind.DISCONNECT))
            self._port.close()
            self._port = None

    def health(self) -> Health:
        """Returns the state of the link; the rate is that of frames, the age that of the newest one."""
        spans = len(self._arrivals) - 1
        rate_hz = spans * 1e9 / max(self._arrivals[-1] - self._arrivals[0], 1) if spans > 0 else math.nan
        age_ms = (self._host.now_ns() - self._arrivals[-1]) * 1e-6 if self._arrivals else math.nan
        opened = self._port is not None
        return Health(self._name, opened, self._errors, self._detail(), rate_hz=rate_hz, age_ms=age_ms)

    def step(self) -> None:
        """Receive what has come, or wait a few ms for it; tell the server that we are here. Raises DeviceError."""
        now_ns = self._host.now_ns()
        if now_ns - self._told_ns >= KEEP_ALIVE_NS:
            self._send(frame.message(MessageKind.KEEP_ALIVE))
            self._told_ns = now_ns
        self._receive()
        silent_ns = self._host.now_ns() - self._heard_ns
        if silent_ns > self._section.silent_s * 1e9:
            self._errors += 1
            self.close()
            raise LinkLostError(f"{self._name}: no frame for {silent_ns * 1e-9:.1f} s; {self._why_silent()}")
        if silent_ns > ASK_AGAIN_NS:  # a server that was restarted has forgotten us
            self._ask()

    def read(self, t_ns: int) -> Reading | None:  # noqa: ARG002
        """The newest reading not yet read, or None."""
        reading, self._reading = self._reading, None
        return reading

    def _ask(self) -> None:
        """Ask for the stream, and for a version that we know; not too often."""
        now_ns = self._host.now_ns()
        if now_ns - self._asked_ns < ASK_AGAIN_NS:
            return
        self._asked_ns = now_ns
        self._send(frame.connect())
        if self.server is not None and self._version is None:
            self._send(frame.request(f"{frame.BITSTREAM},{in_words(NEWEST)}"))
            self._send(frame.request(frame.BITSTREAM))

    def _send(self, data: bytes) -> None:
        """Raises LinkLostError."""
        if self._port is None:
            raise LinkLostError(f"{self._name}: not open")
        try:
            self._port.send(data)
        except OSError as error:
            raise self._gone(error) from error

    def _receive(self) -> None:
        """Wait for a datagram, and take all that have come. Raises DeviceError."""
        for number in range(MOST_AT_ONCE):
            if self._port is None:
                raise LinkLostError(f"{self._name}: not open")
            try:
                data = self._port.receive(wait=number == 0)
            except OSError as error:
                raise self._gone(error) from error
            self._alive()
            if data is None:
                return
            arrived_ns = self._host.now_ns()
            try:
                self._take(data, arrived_ns)
            except BadFrameError as error:
                self._note_damaged(str(error))
            else:
                self._damage.good()

    def _take(self, data: bytes, arrived_ns: int) -> None:
        """Use a message. Raises BadFrameError, DeviceError."""
        kind, content = frame.unpack(data)
        if kind == MessageKind.SERVER_INFO:
            self._greeted(frame.read_server_info(content), arrived_ns)
        elif kind == MessageKind.RESPONSE:
            if self._version is None and frame.chosen_version(content) == NEWEST:
                self._version = NEWEST
        elif kind == MessageKind.FRAME and self._version is not None:
            self._framed(read_frame(content, self._version), arrived_ns)

    def _greeted(self, server: ServerInfo, arrived_ns: int) -> None:
        """Raises DeviceError: a version that is not supported."""
        if server == self.server:
            return  # it answers that we asked again
        if self._clock is not None and arrived_ns - self._heard_ns < ASK_AGAIN_NS:
            self.refused += 1  # another program there: the server that streams is another one
            return
        known = f"this driver reads {', '.join(map(in_words, VERSIONS))}"
        if server.natnet < VERSIONS[0]:
            raise DeviceError(f"{self._name}: {server.words}; {known}: update Motive to 2.0 or newer")
        if not server.clock_hz:
            raise DeviceError(f"{self._name}: {server.words} does not tell the rate of its clock; {known}")
        self.server = server
        self._version = server.natnet if server.natnet in VERSIONS else None
        self._asked_ns -= ASK_AGAIN_NS  # a newer one is asked for NEWEST at once

    def _framed(self, frame: Frame, arrived_ns: int) -> None:
        """Make the reading of a frame, if it is the next one of the sender."""
        assert self.server is not None  # else its version would not be known
        assert self._port is not None
        clock, sender_port = self._clock, self._port.sender_port
        if clock is not None and (why_not := self._why_not(frame, clock, sender_port, arrived_ns)):
            if arrived_ns - self._heard_ns < ASK_AGAIN_NS:
                self.late += why_not == "late"
                self.refused += why_not == "refused"
                return
            clock = None  # another sender, or the server's clock began anew
        if clock is None:
            clock = self._clock = DeviceClock(self.server.clock_hz)
            self._first_tick, self._sender_port = frame.transmitted, sender_port
        clock.observe(frame.transmitted - self._first_tick, arrived_ns)
        ticks = frame.exposed or frame.transmitted
        t_ns = clock.base_ns + round(clock.since_base_ns(ticks - self._first_tick))
        if not frame.exposed:
            t_ns -= self._setup.delay_ns
        self._measured_ns = max(min(t_ns, arrived_ns), self._measured_ns + 1)
        lost = frame.number - self.frame.number if self.frame is not None else 1
        self._sequence += lost if 1 <= lost <= MOST_LOST else 1
        self.frame, self._heard_ns = frame, arrived_ns
        self._arrivals.append(arrived_ns)
        self._reading = Reading(self._sequence, self._measured_ns, self._values(frame), arrived_ns)

    def _why_not(self, frame: Frame, clock: DeviceClock, sender_port: int, arrived_ns: int) -> str:
        """Why a frame is not the next one: late or refused; "": it is."""
        assert self.frame is not None  # else there would be no clock
        if sender_port != self._sender_port:
            return "refused"
        if frame.transmitted <= self.frame.transmitted:
            return "late" if (self.frame.transmitted - frame.transmitted) * clock.tick_ns < 1e9 else "refused"
        sent_ns = clock.base_ns + clock.since_base_ns(frame.transmitted - self._first_tick)
        return "refused" if sent_ns - arrived_ns > _AHEAD_NS else ""

    def _values(self, frame: Frame) -> tuple[float, ...]:
        """Values of a reading; NaN where the body is not tracked, or two have its number; infinite in a playback."""
        if not frame.live:
            return (math.inf,) * len(self._setup.channels)
        body = frame.bodies.get(self._section.body)
        if body is None or not body.tracked or self._section.body in frame.repeated:
            return (math.nan,) * len(self._setup.channels)
        return z_up(body, self._section.up_axis)[: len(self._setup.channels)]

    def _note_damaged(self, found: str) -> None:
        """Count a damaged datagram. Raises DamagedError: too many."""
        self._errors += 1
        try:
            self._damage.damaged(found)
        except DamagedError:
            self.close()
            raise

    def _detail(self) -> str:
        """Returns what server and frames report."""
        if self.server is None:
            return "not found yet"
        version = f" (stream {in_words(self._version)})" if self._version not in (None, self.server.natnet) else ""
        refused = f"; {self.refused} frames of another sender or with times that cannot be" if self.refused else ""
        return f"{self.server.words}{version}, {self._body_words()}{refused}"

    def _body_words(self) -> str:
        number, frame = self._section.body, self.frame
        if frame is None:
            return "no frame yet"
        body = frame.bodies.get(number)
        if not frame.live:
            return "it plays a recording back: switch Motive from Edit to Live"
        if number in frame.repeated:
            return f"more than one body has the streaming ID {number}: give each another ID in Motive"
        if body is None:
            return f"body {number} is not streamed; streamed: {', '.join(map(str, sorted(frame.bodies))) or 'none'}"
        if not body.tracked:
            return f"body {number} is not tracked"
        return f"body {number} tracked, mean marker error {body.error * 1e3:.2f} mm"

    def _unanswered(self) -> str:
        """Why no server was found."""
        if self.server is None:
            return (
                f"no answer within {GREET_NS * 1e-9:g} s; does Motive stream (Streaming settings: on, unicast), does "
                "its firewall let UDP through, is the port that of commands (1510)?"
            )
        known = ", ".join(map(in_words, VERSIONS))
        return f"{self.server.words} does not stream version {in_words(NEWEST)} when asked; this driver reads {known}"

    def _why_silent(self) -> str:
        if self.server is not None and self.server.multicast:
            return "it streams multicast: set unicast in Motive's streaming settings"
        return "is Motive live, or stopped, and does it stream unicast?"

    def _gone(self, error: OSError) -> LinkLostError:
        self._errors += 1
        self.close()
        return LinkLostError(f"{self._name}: the network is gone ({error})")
