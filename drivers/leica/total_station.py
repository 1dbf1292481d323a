"""Total station of Leica: it follows a prism on the rover, and is asked for the prism's place as fast as it answers."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from functools import partial

import msgspec

from drivers.device_clock import DeviceClock
from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import BadFrameError, DeviceError, DeviceIdentity, Health, LinkLostError
from drivers.leica import protocol
from drivers.leica.protocol import CODES, Coordinates, GeocomReply, Lock, Procedure
from drivers.leica.section import LeicaSection
from drivers.messages import Reading
from drivers.serial.link import SerialLink

NAME = "total station"
# Half of the window in which it seeks the prism around where the telescope points [rad].
SEEK_RAD = 0.1
# An answer is looked for so long before it comes as a rule, and the worker rests so long at one go [ns].
EARLY_NS, REST_NS = 2_000_000, 6_000_000
# By so much the instrument's clock cannot differ from ours since its last answer [ms].
JUMP_MS = 200.0
# Readings by which their rate is counted.
_COUNTED = 21
_POINT = "point its telescope at the prism on the rover, and keep the line of sight free"
_LOCK_WORDS = {Lock.OUT: "it has lost the prism", Lock.IN: "it follows the prism", Lock.PREDICTS: "the prism is hidden"}


class LeicaTotalStation:
    """An `InstrumentDevice`: easting, northing and height of a prism, in the axes that are set in the instrument.

    A reading is a distance with the angles of the same time, so the place of the prism at one moment. The instrument
    gives this moment by its clock, and also the one at which it was asked; that is taken for the middle between request
    and answer, the least late of the last seconds (`DeviceClock`). The time is exact to half of what an answer takes.

    After the place the instrument is asked whether it follows the prism: while it only predicts where the prism is, and
    while it has lost it, a reading has no value.

    Args:
        section: of the config.
        setup: of the rig.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        failed: readings without a value, since it was opened.
    """

    def __init__(
        self, section: LeicaSection, setup: InstrumentSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._section, self._host, self._where = section, host, f"{NAME} on {section.port}"
        timeout_s = section.answer_timeout_ms * 1e-3
        self._link = SerialLink(NAME, section.port, section.baud, timeout_s=timeout_s, host=host, alive=alive)
        self._period_ns = round(1e9 / setup.rate_hz)
        self._serial_number = self._detail = ""
        self._forget()

    def _forget(self) -> None:
        self._clock: DeviceClock | None = None
        self._reading: Reading | None = None
        self._place: tuple[Coordinates, int] | None = None  # of this round, with the middle of the exchange [ns]
        self._request, self._lock = b"", Lock.IN
        self._asked = Procedure.LOCK_STATUS
        self._transaction = self._answer_ns = self._usual_ns = 0
        self._good_ns = self._host.now_ns()
        self._first_ms = self._asked_ms = self._middle_ns = self._measured_ms = self._measured_ns = 0
        self.failed = self._sequence = self._code = 0  # the newest code that is not 0
        self._codes, self._ask_anew = set[int](), False  # since the health was asked for
        self._taken_ns: deque[int] = deque(maxlen=_COUNTED)

    def open(self) -> None:
        """Open the port, prove which instrument it is, and let it follow the prism. Raises DeviceError."""
        self._link.open()
        self._forget()
        try:
            self._ask(Procedure.NULL)
            self._serial_number = self._ask(Procedure.NUMBER)[0].lstrip("0")
            self._which.check()
            self._ask(Procedure.SET_DIGITS, protocol.DIGITS)
            software, station = ".".join(self._ask(Procedure.SOFTWARE)), ", ".join(self._ask(Procedure.GET_STATION))
            name = self._ask(Procedure.NAME)[0]
            self._detail = f"{name}, serial number {self._serial_number}, software {software}, its station at {station}"
            self._ask(Procedure.DO_MEASURE, protocol.CLEAR, protocol.INCLINE)
            self._ask(Procedure.SET_EDM_MODE, protocol.EDM_MODES[self._section.tracking])
            self._ask(Procedure.SET_ATR, 1)
            self._ask(Procedure.SET_LOCK, 1)
            if int(self._ask(Procedure.LOCK_STATUS)[0]) != Lock.IN:
                self._ask(Procedure.FINE_ADJUST, SEEK_RAD, SEEK_RAD, 0)
                self._ask(Procedure.LOCK_IN)
            self._ask(Procedure.DO_MEASURE, protocol.MEASURE, protocol.INCLINE)
            self._good_ns = self._host.now_ns()
        except DeviceError:
            self._link.close()
            raise

    def close(self) -> None:
        """Stop its distance meter if the port is still there, and close it."""
        with suppress(DeviceError):
            self._link.post(protocol.request(Procedure.DO_MEASURE, 0, protocol.STOP, protocol.INCLINE))
        self._link.close()

    def health(self) -> Health:
        """Returns the state of the link; the rate is that of readings, those without a value too."""
        if not self._detail:
            return self._link.health("not opened yet")
        failed = f"; {self.failed} readings failed, newest {protocol.code_words(self._code)}" if self.failed else ""
        health = self._link.health(f"{self._detail}; {_LOCK_WORDS[self._lock]}{failed}")
        spans = len(self._taken_ns) - 1
        rate_hz = spans * 1e9 / max(self._taken_ns[-1] - self._taken_ns[0], 1) if spans > 0 else math.nan
        reports = tuple(one for code in sorted(self._codes) for one in CODES.reports(code, self._section.port))
        self._ask_anew = True
        return msgspec.structs.replace(health, rate_hz=rate_hz, reports=reports, identities=(self._which,))

    def step(self) -> None:
        """Ask for the place or for the lock, or rest until the answer is due and take it. Raises DeviceError."""
        if not self._request:
            place = self._asked is Procedure.LOCK_STATUS
            self._asked = Procedure.GET_COORDINATE if place else Procedure.LOCK_STATUS
            self._request = self._next(self._asked, *((0, protocol.INCLINE) if place else ()))
            self._link.post(self._request)
            self._answer_ns = self._link.sent_ns + self._usual_ns - EARLY_NS
        if (left_ns := self._answer_ns - self._host.now_ns()) > 0:
            self._host.rest(min(left_ns, REST_NS) * 1e-9)
            return
        request, self._request = self._request, b""
        reply, began_ns = self._link.ask(request, self._missing, partial(self._decode, request))
        sent_ns = self._link.sent_ns  # of the second try, if the first one had no answer
        waited_ns = began_ns - sent_ns
        self._usual_ns = min(waited_ns, self._usual_ns + (waited_ns - self._usual_ns) // 8)
        self._note(reply.code)
        valid = reply.code in protocol.VALID
        if self._asked is Procedure.GET_COORDINATE:
            self._place = (protocol.coordinates(reply.values), (sent_ns + began_ns) // 2) if valid else None
        else:
            self._lock = Lock(int(reply.values[0])) if valid else Lock.OUT
            self._complete()

    def read(self, t_ns: int) -> Reading | None:  # noqa: ARG002
        """The newest reading not yet read, or None."""
        reading, self._reading = self._reading, None
        return reading

    @property
    def _which(self) -> DeviceIdentity:
        return DeviceIdentity(self._where, self._serial_number, self._section.identity)

    def _complete(self) -> None:
        """A round is over: one more reading, if there is a new place; without one, once a period."""
        now_ns = self._host.now_ns()
        place, self._place = self._place, None
        if place is None or self._lock is not Lock.IN:
            if now_ns - (self._taken_ns[-1] if self._taken_ns else 0) < self._period_ns:
                return
            self.failed += 1
            if now_ns - self._good_ns > self._section.silent_s * 1e9:
                self._link.close()
                why = f"{_LOCK_WORDS[self._lock]}; newest {protocol.code_words(self._code)}"
                raise LinkLostError(f"{self._where}: no place for {self._section.silent_s:g} s: {why}; {_POINT}")
            self._give(now_ns, (math.nan,) * 3, now_ns)
            return
        found, middle_ns = place
        off_ms = found.asked_ms - self._asked_ms - (middle_ns - self._middle_ns) * 1e-6
        jumped = self._clock is not None and abs(off_ms) > JUMP_MS  # a damaged digit, or its clock began anew
        if self._clock is None or jumped:
            self._clock, self._first_ms, self._measured_ms = DeviceClock(1e3), found.asked_ms, -1
        self._asked_ms, self._middle_ns = found.asked_ms, middle_ns
        self._clock.observe(found.asked_ms - self._first_ms, middle_ns)
        if jumped or found.measured_ms <= self._measured_ms:
            return  # the distance meter has not measured again
        self._measured_ms, self._good_ns = found.measured_ms, now_ns
        t_ns = self._clock.base_ns + round(self._clock.since_base_ns(found.measured_ms - self._first_ms))
        self._give(t_ns, found.place_m, now_ns)

    def _give(self, t_ns: int, values: tuple[float, ...], now_ns: int) -> None:
        self._measured_ns = max(min(t_ns, now_ns), self._measured_ns + 1)
        self._sequence += 1
        self._taken_ns.append(now_ns)
        self._reading = Reading(self._sequence, self._measured_ns, values, now_ns)

    def _note(self, code: int) -> None:
        if self._ask_anew:
            self._codes, self._ask_anew = set(), False
        self._codes.add(code)
        self._code = code or self._code

    def _next(self, procedure: Procedure, *parameters: float) -> bytes:
        """Returns the next request, with its number."""
        self._transaction = self._transaction % (protocol.MOST_TRANSACTIONS - 1) + 1
        return protocol.request(procedure, self._transaction, *parameters)

    def _ask(self, procedure: Procedure, *parameters: float) -> tuple[str, ...]:
        """Returns what a call for its set-up gives. Raises DeviceError: it refuses."""
        request = self._next(procedure, *parameters)
        seeks = procedure in (Procedure.FINE_ADJUST, Procedure.LOCK_IN)
        timeout_s = self._section.lock_timeout_s if seeks else None
        reply, _ = self._link.ask(request, self._missing, partial(self._decode, request), timeout_s)
        if reply.code not in protocol.VALID:
            to_do = _POINT if seeks else "check that it is switched on, level, has its licence, and shows no message"
            raise self._refusal(request, protocol.code_words(reply.code), to_do)
        return reply.values

    def _missing(self, answer: bytes) -> int:
        return protocol.missing(answer, self._transaction)

    def _decode(self, request: bytes, message: bytes) -> tuple[GeocomReply, int]:
        """The reply, and when its first byte came [ns]. Raises BadFrameError, DeviceError."""
        began_ns = self._host.now_ns() - self._link.line_ns(len(message))
        reply = protocol.decode(message)
        if reply.communication in protocol.DAMAGED:
            raise BadFrameError(f"the instrument cannot read the request: communication code {reply.communication}")
        if reply.transaction != self._transaction:
            raise BadFrameError(f"{message!r} answers request {reply.transaction}, not {self._transaction}")
        if reply.communication:
            to_do = "this instrument has no such procedure; needed: TPS1100 or newer, with motors"
            raise self._refusal(request, f"communication code {reply.communication}", to_do)
        return reply, began_ns

    def _refusal(self, request: bytes, found: str, to_do: str) -> DeviceError:
        return DeviceError(f"{self._where}: it answers to {request.decode().strip()} with {found}; {to_do}")
