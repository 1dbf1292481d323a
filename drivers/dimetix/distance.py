"""Laser distance sensor of Dimetix: set up when it is opened, then it measures and sends by itself."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from drivers.dimetix import protocol
from drivers.dimetix.protocol import ERRORS, DistanceReply
from drivers.dimetix.section import DimetixSection
from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, DeviceIdentity, Health
from drivers.messages import Reading
from drivers.serial.listening import ListeningLink, Message, StreamedInstrument, lines

NAME = "laser distance sensor"
# An answer takes so long at most, line time included [s].
ANSWER_TIMEOUT_S = 0.5


class DimetixDistance(StreamedInstrument):
    """An `InstrumentDevice` with one channel, the distance. A measurement that failed is a reading with NaN.

    The port is one of 8N1: parity bits are the eighth bits, which this driver adds and checks.

    Args:
        section: of the config.
        setup: of the rig.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        failed: measurements that failed, since it was opened.
    """

    def __init__(
        self, section: DimetixSection, setup: InstrumentSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._section, self._setup, self._where = section, setup, f"{NAME} on {section.port}"
        parity = section.characters == "7e1"
        self._to_line: Callable[[bytes], bytes] = protocol.with_parity if parity else bytes
        self._from_line: Callable[[bytes], bytes] = protocol.without_parity if parity else bytes
        link = ListeningLink(
            NAME,
            section.port,
            section.baud,
            lines(self._to_line(b"g"), self._to_line(protocol.END)[-1:]),
            self._take,
            period_ns=round(1e9 / setup.rate_hz),
            longest=protocol.LONGEST,
            timeout_s=ANSWER_TIMEOUT_S,
            host=host,
            alive=alive,
        )
        super().__init__(link)
        self._firmware = self._serial_number = ""
        self.failed = self._error = 0  # the newest error
        self._errors, self._ask_anew = set[int](), False  # of the measurements since the health was asked for

    def open(self) -> None:
        """Open the port, stop what the sensor does, and let it measure. Raises DeviceError."""
        self._link.open()
        try:
            self._ask(protocol.STOP)
            self._firmware = self._ask(protocol.FIRMWARE).number[1:]
            self._serial_number = self._ask(protocol.SERIAL_NUMBER).number[1:]
            self._which.check()
            self._ask(protocol.FORMAT, protocol.PLAIN_FORMAT)
            self._link.send(self._command(protocol.TRACK, round(1e3 / self._setup.rate_hz)))
        except DeviceError:
            self._link.close()
            raise
        self._reading, self.failed, self._error, self._errors = None, 0, 0, set()
        self._link.begin()

    def close(self) -> None:
        """Stop the laser if the port is still there, and close it."""
        self._link.close(self._command(protocol.STOP))

    def health(self) -> Health:
        """Returns the state of the link; the rate is that of all messages, failed measurements too."""
        if not self._firmware:
            return self._link.health("not opened yet")
        failed = (
            f"; {self.failed} measurements failed, newest {protocol.error_words(self._error)}" if self.failed else ""
        )
        health = self._link.health(f"serial number {self._serial_number}, firmware {self._firmware}{failed}")
        reports = tuple(one for error in sorted(self._errors) for one in ERRORS.reports(error, self._section.port))
        self._ask_anew = True
        return msgspec.structs.replace(health, reports=reports, identities=(self._which,))

    @property
    def _which(self) -> DeviceIdentity:
        return DeviceIdentity(self._where, self._serial_number.lstrip("0"), self._section.identity)

    def _take(self, message: Message) -> bool:
        """Raises BadFrameError, and DeviceError: the sensor refuses to measure."""
        reply = protocol.decode(self._from_line(message.data))
        if reply.sensor != self._section.sensor or not (reply.error or reply.command == protocol.TRACK):
            return False  # of another sensor, a late answer, or what it says when it is switched on
        if reply.error in protocol.COMMAND_ERRORS:
            raise self._refusal(protocol.TRACK, reply)
        if self._ask_anew:
            self._errors, self._ask_anew = set(), False
        self._errors.add(reply.error)
        if reply.error:
            self.failed += 1
            self._error = reply.error
        began_ns = message.began_ns - self._setup.delay_ns
        self._reading = Reading(message.number, began_ns, (reply.distance_m,), message.arrived_ns)
        return True

    def _ask(self, letters: str, number: int | None = None) -> DistanceReply:
        """Raises DeviceError."""

        def decode(message: bytes) -> DistanceReply | None:
            reply = protocol.decode(self._from_line(message))
            if reply.sensor != self._section.sensor:
                return None
            if reply.error in protocol.COMMAND_ERRORS:
                raise self._refusal(letters, reply)
            answers = "" if letters == protocol.STOP else letters
            return reply if not reply.error and reply.command == answers else None

        return self._link.ask(self._command(letters, number), decode)

    def _command(self, letters: str, number: int | None = None) -> bytes:
        return self._to_line(protocol.command(self._section.sensor, letters, number))

    def _refusal(self, letters: str, reply: DistanceReply) -> DeviceError:
        return DeviceError(
            f"{self._where}: it answers to s{reply.sensor}{letters} with {protocol.error_words(reply.error)}; "
            "check motion.rate_hz, devices.motion.baud and devices.motion.characters against its settings"
        )
