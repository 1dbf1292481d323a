"""One CiA 402 drive on its bus: how it is set up, what it reports, and its SDOs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from drivers.can.bus import CanBus
from drivers.can.slcan import CanFrame
from drivers.cia402 import protocol, status
from drivers.cia402.motor_layout import Cia402Wheels, DrivePlace
from drivers.cia402.protocol import Entry, SdoAbortError
from drivers.cia402.state_machine import RESET_FAULT, STATE_BITS, Cia402State, state_of
from drivers.host import Alive, Host
from drivers.interfaces import BadFrameError, ControllerState, DeviceError, DeviceIdentity, LinkLostError
from drivers.motor_controllers import ControllerPower, raise_all
from drivers.reported import DeviceReport

T = TypeVar("T")
# How long a drive may take to answer an SDO, and to start anew [s].
SDO_S, BOOT_S = 0.1, 3.0
# How often an SDO is sent; a text of a drive has so many segments at most.
TRIES, MOST_SEGMENTS = 2, 16
# What is read in turn while the drives run; the last one only where it is measured.
SLOW = (protocol.ERROR_REGISTER, protocol.ERROR_CODE, protocol.ERROR_REGISTER, protocol.VOLTAGE)
# An SDO's answer on the serial line, with the confirmation of its request.
_ANSWER_BYTES = 24
# What is reported stays so long after it was seen [ns], so that it is read.
SEEN_NS = 1_000_000_000
# A drive has no such object, or none of its parts.
_MISSING = (protocol.NO_OBJECT, protocol.NO_SUB_INDEX)
# Process data that nobody needs here, as far as a drive has them: receiving and sending.
_UNUSED = (0x1401, 0x1402, 0x1801, 0x1802, 0x1803)
# Bit of an identifier that a drive may set by itself: it answers no remote requests.
_NO_REMOTE, _COMMUNICATION = 1 << 30, (0x1400, 0x1800)
# Numbers from here on are addresses, shown as such.
_LARGE = 1 << 16
_BY_MAKER = "set it with the maker's program, or correct the settings"


class _Feedback(NamedTuple):
    """What a drive has answered to the newest synchronisation.

    Attributes:
        statusword: see `drivers.cia402.status`.
        velocity: in its units.
        current: in thousandths of its rated current; 0 where it does not measure it.
    """

    statusword: int
    velocity: int
    current: int = 0


class Cia402Drive:
    """A drive.

    Args:
        wheels: that it is one of.
        place: its node and wheel.
        bus: that it is on.
        host: whose clock is used.
        alive: called while waiting.

    Attributes:
        place: see above.
        feedback: newest process data; None: none have come since they were asked for.
        newest: the same, of the round before as long as none have come.
        boots: how often it has started anew since `forget`.
        slow: newest values that are read in turn, by entry.
        identification: which drive it is.
    """

    def __init__(self, wheels: Cia402Wheels, place: DrivePlace, bus: CanBus, host: Host, alive: Alive) -> None:
        self._wheels, self.place, self._bus, self._host, self._alive = wheels, place, bus, host, alive
        self.where = f"node {place.node} ({wheels.names[place.wheel]}) on {bus.port}"
        self.identification = DeviceIdentity(self.where, "", place.identity)
        self._name, self._rated_mA = "", 0
        self.forget()

    def forget(self) -> None:
        """Forget what it has reported."""
        self.feedback: _Feedback | None = None
        self.newest = _Feedback(0, 0)
        self.slow: dict[Entry, int] = {}
        self.boots, self._answer = 0, b""
        self._emergency, self._fallen = (0, 0), (Cia402State.ENABLED, -SEEN_NS)
        self._read_ns = self._measured_ns = -1

    @property
    def state(self) -> Cia402State:
        """By its newest statusword."""
        return state_of(self.newest.statusword)

    @property
    def speed_radps(self) -> float:
        """Of its axle."""
        return self._wheels.speed_radps(self.place.wheel, self.newest.velocity)

    def take(self, frame: CanFrame) -> None:
        """Take one of its frames. Raises BadFrameError."""
        kind, data = frame.identifier - self.place.node, frame.data
        if kind == protocol.TPDO1:
            self.newest = self.feedback = _Feedback(*self.place.feedback.unpack(data))
            self._measured_ns = self._host.now_ns()
        elif kind == protocol.SDO_ANSWER:
            self._answer = data
            self._take_slow(data)
        elif kind == protocol.EMERGENCY:
            self._emergency = protocol.decode_emergency(data)
        elif kind == protocol.HEARTBEAT and data == bytes((protocol.BOOT_UP,)):
            self.boots += 1

    def fall(self) -> None:
        """It has left the enabled operation though nobody has ordered that."""
        self._fallen = self.state, self._host.now_ns()

    def slow_request(self, turn: int) -> CanFrame:
        """The next reading of what is read in turn."""
        entries = SLOW if self._wheels.section.measures_power else SLOW[:2]
        return self._request(protocol.read_request(entries[turn % len(entries)]))

    def set_up(self) -> None:
        """Write and read back all settings; all that is wrong is named at once. Raises DeviceError."""
        checks = [self._check_kind, self._check_units, self._set_optional]
        checks.append(partial(self._set, protocol.MODE, protocol.PROFILE_VELOCITY, protocol.MODE_DISPLAY))
        checks += [partial(self._set, entry, value) for entry, value in self._settings()]
        if self._wheels.section.measures_power:
            checks.append(self._read_rated)
        troubles: list[DeviceError] = []
        for check in checks:
            try:
                check()
            except LinkLostError:
                raise
            except DeviceError as error:
                troubles.append(error)
        raise_all(troubles)

    def identify(self) -> None:
        """Check which drive it is, before anything is set. Raises DeviceError."""
        numbers = [str(self.read(entry, 0)) for entry in protocol.IDENTITY]
        self.identification = DeviceIdentity(self.where, "-".join(numbers), self.place.identity)
        self.identification.check()
        self._name = self.read_text(protocol.NAME)

    def reset_fault(self) -> None:
        """Reset its fault, if it is in one: its cause may be gone. Raises DeviceError: it is not."""
        if state_of(self.read(protocol.STATUSWORD)) is not Cia402State.FAULT:
            return
        code = self.read(protocol.ERROR_CODE, 0)
        for value in (RESET_FAULT, 0):
            self.write(protocol.CONTROLWORD, value)
        if state_of(self.read(protocol.STATUSWORD)) is Cia402State.FAULT:
            words = ", ".join(status.ERROR.words(status.error_row(code))) or "no error"
            raise DeviceError(f"{self.where}: in a fault that a reset does not end: {words} (0x{code:04X})")

    def write(self, entry: Entry, value: int) -> None:
        """Raises DeviceError."""
        try:
            self._ask(protocol.write_request(entry, value), protocol.check_written)
        except SdoAbortError as error:
            raise DeviceError(f"{self.where}: {entry} cannot be set to {value}: {error}; {_BY_MAKER}") from None

    def read(self, entry: Entry, missing: int | None = None) -> int:
        """Returns the number of an entry.

        Args:
            entry: that is read.
            missing: in place of the number, where the drive has no such entry; None: that is an error.

        Raises:
            DeviceError: it refuses, or does not answer.
        """
        try:
            data = self._ask(protocol.read_request(entry), protocol.read_value)
        except SdoAbortError as error:
            if missing is not None and error.code in _MISSING:
                return missing
            raise DeviceError(f"{self.where}: {entry} cannot be read: {error}; is it a CiA 402 drive?") from None
        try:
            return entry.unpack(data or b"")
        except BadFrameError as error:
            raise DeviceError(f"{self.where}: {error}") from None

    def read_text(self, entry: Entry) -> str:
        """Returns a text, or "" where the drive has none. Raises DeviceError."""
        try:
            data, segment = self._ask(protocol.read_request(entry), protocol.read_value), 0
            if data is None:
                data, last = b"", False
                while not last and segment < MOST_SEGMENTS:
                    part, last = self._ask(protocol.segment_request(segment), protocol.read_segment)
                    data, segment = data + part, segment + 1
        except SdoAbortError:
            return ""
        return data.decode("ascii", "replace").strip("\0 ")

    def reports(self) -> tuple[DeviceReport, ...]:
        """What it reports about itself now."""
        fallen, fallen_ns = self._fallen
        if self.state is Cia402State.FAULT or self._host.now_ns() - fallen_ns >= SEEN_NS:
            fallen = Cia402State.FAULT if self.state is Cia402State.FAULT else Cia402State.ENABLED
        code, register = self._errors()
        return (
            *status.STATE.reports(fallen, self.where),
            *status.ERROR.reports(status.error_row(code), f"code 0x{code:04X}, {self.where}"),
            *status.STATUSWORD.reports(self.newest.statusword & ~STATE_BITS, self.where),
            *status.REGISTER.reports(register, self.where),
        )

    def troubles(self) -> list[str]:
        """The same in few words."""
        return [report.words for report in self.reports()]

    def controller_state(self) -> ControllerState:
        """The same, item by item."""
        section = self._wheels.section
        mode = f"{self._name or 'drive'}, profile velocity, heartbeat {section.heartbeat_ms} ms"
        return ControllerState(self.where, mode, self._supply_V(), (self._current_A(),), ", ".join(self.troubles()))

    def power(self) -> ControllerPower:
        """Its newest readings."""
        read_ns = min(self._measured_ns, self._read_ns)
        currents_A = {self.place.wheel: self._wheels.sign[self.place.wheel] * self._current_A()}
        return ControllerPower(read_ns, {"current_A": currents_A, "supply_V": self._supply_V()})

    def _errors(self) -> tuple[int, int]:
        """Code and register, of the newest emergency message or as they are read."""
        code, register = self._emergency
        register |= self.slow.get(protocol.ERROR_REGISTER, 0)
        if register or self.state in (Cia402State.FAULT_REACTION, Cia402State.FAULT):  # else it is that of an old error
            code = code or self.slow.get(protocol.ERROR_CODE, 0)
        return code, register

    def _supply_V(self) -> float:
        return self.slow[protocol.VOLTAGE] * 1e-3 if protocol.VOLTAGE in self.slow else math.nan

    def _current_A(self) -> float:
        if not self._wheels.section.measures_power or self._measured_ns < 0:
            return math.nan
        return self.newest.current * self._rated_mA * 1e-6

    def _take_slow(self, data: bytes) -> None:
        """Take an answer to `slow_request`; one that refuses changes nothing."""
        for entry in SLOW[1:]:
            if protocol.is_answer(data, protocol.read_request(entry)):
                try:
                    self.slow[entry] = entry.unpack(protocol.read_value(data) or b"")
                except SdoAbortError:
                    return
                if entry is SLOW[-1]:
                    self._read_ns = self._host.now_ns()

    def _check_kind(self) -> None:
        kind = self.read(protocol.DEVICE_TYPE) & 0xFFFF
        if kind != protocol.DRIVE_PROFILE:
            raise DeviceError(f"{self.where}: {protocol.DEVICE_TYPE}: found profile {kind}, needed: 402, a drive")
        if not self.read(protocol.SUPPORTED_MODES) >> protocol.PROFILE_VELOCITY - 1 & 1:
            raise DeviceError(f"{self.where}: {protocol.SUPPORTED_MODES}: no profile velocity mode, which is needed")

    def _check_units(self) -> None:
        """Compare what scales the drive's speeds, as far as it says so."""
        section = self._wheels.section
        if section.velocity_unit == "rpm":
            unit = self.read(protocol.VELOCITY_UNIT, protocol.REVOLUTIONS_PER_MINUTE)
            self._see(protocol.VELOCITY_UNIT, unit, protocol.REVOLUTIONS_PER_MINUTE)
            return
        for numerator, denominator, needed in (
            (protocol.ENCODER_COUNTS, protocol.ENCODER_TURNS, section.counts_per_turn),
            (protocol.GEAR_MOTOR, protocol.GEAR_SHAFT, 1.0),
        ):
            found = self.read(numerator, 0) / max(self.read(denominator, 1), 1)
            if found:
                self._see(numerator, found, needed or 0.0)

    def _settings(self) -> Iterator[tuple[Entry, int]]:
        """What is written and read back."""
        section, place, ramp = self._wheels.section, self.place, self._wheels.acceleration
        yield protocol.ABORT_OPTION, protocol.DISABLE_VOLTAGE
        yield protocol.CONSUMER_HEARTBEAT, section.own_node << 16 | section.heartbeat_ms
        if ramp is not None:
            yield from ((entry, ramp) for entry in (protocol.ACCELERATION, protocol.DECELERATION))
        for pdo in (place.setpoint, place.feedback, place.stop):
            yield from pdo.settings()

    def _set(self, entry: Entry, value: int, shown: Entry | None = None) -> None:
        self.write(entry, value)
        found = self.read(shown or entry)
        self._see(entry, found & ~_NO_REMOTE if entry.index & 0xFE00 in _COMMUNICATION else found, value)

    def _set_optional(self) -> None:
        """Set what not every drive has: it stays operational without our heartbeat, and has no other process data."""
        if self.read(protocol.ERROR_BEHAVIOUR, protocol.STAY_OPERATIONAL) != protocol.STAY_OPERATIONAL:
            self.write(protocol.ERROR_BEHAVIOUR, protocol.STAY_OPERATIONAL)
        for parameters in _UNUSED:
            unused = Entry(parameters, 1, 4, "identifier of an unused PDO")
            if not (identifier := self.read(unused, protocol.OFF)) & protocol.OFF:
                self.write(unused, identifier | protocol.OFF)

    def _see(self, entry: Entry, found: float, needed: float) -> None:
        if found != needed:
            words = [f"0x{int(one):X}" if one >= _LARGE else f"{one:g}" for one in (found, needed)]
            raise DeviceError(f"{self.where}: {entry}: found {words[0]}, needed {words[1]}; {_BY_MAKER}")

    def _read_rated(self) -> None:
        self._rated_mA = self.read(protocol.RATED_CURRENT)
        self.read(protocol.VOLTAGE)

    def _request(self, data: bytes) -> CanFrame:
        return CanFrame(protocol.SDO_REQUEST + self.place.node, data)

    def _ask(self, request: bytes, decode: Callable[[bytes], T]) -> T:
        """Send an SDO and decode its answer; retry once. Raises LinkLostError and SdoAbortError."""
        for _ in range(TRIES):
            self._answer = b""
            self._bus.send(self._request(request))
            until_ns = self._host.now_ns() + round(SDO_S * 1e9)
            while self._host.now_ns() < until_ns:
                self._bus.receive(_ANSWER_BYTES)
                self._alive()
                if protocol.is_answer(self._answer, request):
                    with suppress(BadFrameError):
                        return decode(self._answer)
        raise LinkLostError(
            f"{self.where}: no answer within {SDO_S * 1e3:g} ms, twice; check cable, termination, power, node-ID and "
            f"bit rate ({self._bus.bit_rate} bit/s){self._bus.found_instead()}"
        )
