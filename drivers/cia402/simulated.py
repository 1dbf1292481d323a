"""A CiA 402 drive with a wheel, simulated at the protocol level: objects, process data, state machine, heartbeat."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from drivers.can.simulated import SimAdapter, SimulatedNode
from drivers.can.slcan import CanFrame
from drivers.can.status import ADAPTER
from drivers.cia402 import protocol, status
from drivers.cia402.protocol import Entry, SdoAbortError
from drivers.cia402.state_machine import Cia402State
from drivers.sim.protocol.plant_ports import NEVER_NS, AxlePorts

NAME = b"simulated CiA 402 drive"
RATED_MA = 10_000
# Step of a ramp [ns], and usual ramp of the axle [rad/s^2].
RAMP_NS, USUAL_RADPS2 = 2_000_000, 20.0
STOPS_KEPT = 256
# How long its reaction to a fault lasts [ns].
REACTION_NS = 20_000_000
HEARTBEAT_MISSING, TOO_SHORT = 0x8130, 0x8210
# Objects from here on are not reset with the communication.
_APPLICATION = 0x2000
_COMMUNICATION = 0x11  # bits of the error register
_SUPPORTED = 1 << protocol.PROFILE_VELOCITY - 1 | 1 << 3  # with torque profile
_ENABLED_BITS = 0x0210  # voltage enabled, remote
_PDOS = (0x1400, 0x1401, 0x1402, 0x1403, 0x1800, 0x1801, 0x1802, 0x1803)
# Entries that can be in a PDO, and their bits.
_MAPPABLE = {
    entry.mapping >> 8: entry.mapping & 0xFF
    for entry in (
        *(protocol.CONTROLWORD, protocol.STATUSWORD, protocol.MODE, protocol.MODE_DISPLAY, protocol.VELOCITY),
        *(protocol.CURRENT, protocol.TARGET_VELOCITY),
    )
}
_CONSTANT = (0x1000, 0x1018, 0x603F, 0x6075, 0x6502)


class SimDrive(SimulatedNode):
    """A `SimulatedNode`: one drive.

    Simplified: process data go out on a synchronisation only, a quick stop and a fault reaction hold a speed of zero,
    and of the modes only profile velocity moves the wheel.

    Args:
        wheels: of the rig.
        wheel: which of them.
        node: its number.
        units_per_radps: its velocity at 1 rad/s of the axle, negative where it is mounted the other way round.
        identity: vendor, product code, revision and serial number.
        resolution: encoder counts in a turn of the motor; None: its unit is 1/min.

    Attributes:
        node: see above.
        state: of its state machine.
        operational: its network state.
        objects: its numbers, by index and sub-index; those that are measured are not in here.
        identity: see above.
        reported: bits of the statusword that it reports in addition.
        register: error register.
        fault_lasts: a fault cannot be reset.
        twin: another drive has its number.
        seen: when it was switched off by a command, on by one, and off by itself, each its node and time [ns].
    """

    def __init__(
        self,
        wheels: AxlePorts,
        wheel: int,
        node: int,
        units_per_radps: float,
        identity: Sequence[int],
        resolution: float | None,
    ) -> None:
        self._wheels, self._wheel, self.node, self._units = wheels, wheel, node, units_per_radps
        self.identity, self.reported, self.register = list(identity), 0, 0
        self.twin = self.fault_lasts = False
        self.state, self.operational, self._network = Cia402State.SWITCH_ON_DISABLED, False, protocol.READY
        self._defaults = {
            (0x1000, 0): protocol.DRIVE_PROFILE, (0x1016, 0): 1, (0x1016, 1): 0, (0x1017, 0): 0, (0x1018, 0): 4,
            (0x1029, 0): 1, (0x1029, 1): 0, (0x6007, 0): 1, (0x603F, 0): 0, (0x6040, 0): 0, (0x6060, 0): 0,
            (0x6075, 0): RATED_MA, (0x6083, 0): round(USUAL_RADPS2 * abs(units_per_radps)),
            (0x6084, 0): round(USUAL_RADPS2 * abs(units_per_radps)), (0x60FF, 0): 0, (0x6502, 0): _SUPPORTED,
        }  # fmt: skip
        if resolution is None:
            self._defaults[0x60A9, 0] = protocol.REVOLUTIONS_PER_MINUTE
        else:
            self._defaults |= {(0x608F, 1): round(resolution), (0x608F, 2): 1, (0x6091, 1): 1, (0x6091, 2): 1}
        for parameters in _PDOS:
            self._defaults |= {(parameters, 0): 2, (parameters, 1): protocol.OFF, (parameters, 2): 255}
            self._defaults |= {(parameters + 0x200, sub): 0 for sub in range(9)}
        self.objects = dict(self._defaults)
        self.seen = tuple(deque[tuple[int, int]](maxlen=STOPS_KEPT) for _ in range(3))
        self._outbox = [protocol.heartbeat(node, protocol.BOOT_UP)]
        self._text = b""
        self._fed_ns, self._reacts_until_ns, self._stays_off = -1, NEVER_NS, False
        self._now_ns = 0
        self._speed = 0.0  # that it holds, in its units
        self._held: float | None = None

    def take(self, frame: CanFrame, t_ns: int) -> Iterator[CanFrame]:
        """Take a frame; what it answers."""
        identifier, data = frame
        if identifier == protocol.NMT and len(data) == 2 and data[1] in (0, self.node):
            self._obey_network(data[0], t_ns)
        elif identifier == protocol.SYNC and self.operational:
            yield from self._process_data()
        elif identifier == protocol.HEARTBEAT + (self._dead_man >> 16) and self._dead_man:
            self._fed_ns = t_ns
            if self.register & _COMMUNICATION == _COMMUNICATION:
                self.register &= ~_COMMUNICATION
                self._outbox.append(protocol.emergency(self.node, 0, self.register))
        elif identifier == protocol.SDO_REQUEST + self.node and self._network != protocol.STOPPED:
            answer = CanFrame(protocol.SDO_ANSWER + self.node, self._serve(data, t_ns))
            yield from (answer,) * (1 + self.twin)
        elif self.operational:
            self._take_process_data(identifier, data, t_ns)

    def wake(self, now_ns: int) -> int:
        """Run its ramp, and its dead-man."""
        passed_ns, self._now_ns = max(now_ns - self._now_ns, 0) if self._now_ns else 0, now_ns
        over_ns = NEVER_NS
        if self._fed_ns >= 0 and (time_ms := self._dead_man & 0xFFFF):
            over_ns = self._fed_ns + time_ms * 1_000_000
        if now_ns >= self._reacts_until_ns:
            self.go(Cia402State.FAULT)
        if now_ns >= over_ns:
            over_ns = NEVER_NS
            self._miss_heartbeat(now_ns)
        over_ns = min(over_ns, self._reacts_until_ns)
        return min(over_ns, now_ns + RAMP_NS) if self._drive(passed_ns * 1e-9) else over_ns

    def unasked(self) -> list[CanFrame]:
        """Returns what it has sent by itself since the last call."""
        outbox, self._outbox = self._outbox, []
        return outbox * (1 + self.twin)

    def report_error(self, code: int, register: int) -> None:
        """An error has occurred, or with code 0 it is gone."""
        self.objects[0x603F, 0], self.register = code, register
        self._outbox.append(protocol.emergency(self.node, code, register))

    def restart(self) -> None:
        """Its power was off and is on again: what was set is lost."""
        self._network, self.operational = protocol.READY, False
        self.go(Cia402State.SWITCH_ON_DISABLED)
        self._begin({})

    def change(self, index: int, sub: int, value: int | None) -> None:
        """It has another number there from now on, also after a restart; None: no such object."""
        for objects in (self._defaults, self.objects):
            if value is None:
                objects.pop((index, sub), None)
            else:
                objects[index, sub] = value

    def go(self, state: Cia402State) -> None:
        """Change its state by itself; what enables it acts again after it has been told to be off."""
        ran, self.state = self._powered, state
        self._stays_off = state is not Cia402State.ENABLED
        self._reacts_until_ns = self._now_ns + REACTION_NS if state is Cia402State.FAULT_REACTION else NEVER_NS
        if ran and not self._powered:
            self.seen[2].append((self.node, self._now_ns))
        self._drive(0.0)

    def _begin(self, kept: Mapping[tuple[int, int], int]) -> None:
        self.objects, self._fed_ns = {**self._defaults, **kept}, -1
        self._outbox.append(protocol.heartbeat(self.node, protocol.BOOT_UP))

    @property
    def _powered(self) -> bool:
        return not self.state.off and self.state is not Cia402State.SWITCHED_ON

    @property
    def _dead_man(self) -> int:
        """Whose heartbeat it needs, and how often."""
        return self.objects.get((0x1016, 1), 0)

    def _obey_network(self, command: int, t_ns: int) -> None:
        if command == protocol.RESET_COMMUNICATION:
            self._begin({key: value for key, value in self.objects.items() if key[0] >= _APPLICATION})
        states = {protocol.START: protocol.OPERATIONAL, protocol.STOP: protocol.STOPPED}
        self._network = states.get(command, protocol.READY)
        self.operational = self._network == protocol.OPERATIONAL
        if command in (protocol.STOP, protocol.RESET_COMMUNICATION):
            self._abort_connection(t_ns)

    def _miss_heartbeat(self, now_ns: int) -> None:
        self._fed_ns = -1
        self.report_error(HEARTBEAT_MISSING, self.register | _COMMUNICATION)
        if self.objects.get((0x1029, 1)) != protocol.STAY_OPERATIONAL:
            self._network, self.operational = protocol.READY, False
        self._abort_connection(now_ns)

    def _abort_connection(self, now_ns: int) -> None:
        """What it does without a connection, by its option code."""
        reaction = {1: Cia402State.FAULT, 2: Cia402State.SWITCH_ON_DISABLED, 3: Cia402State.QUICK_STOP}
        if (state := reaction.get(self.objects.get((0x6007, 0), 0))) is not None and self._powered:
            self._now_ns = max(self._now_ns, now_ns)
            self.go(state)

    def _control(self, word: int, before: int, t_ns: int) -> None:
        """Obey a controlword."""
        state, ran, one = self.state, self._powered, Cia402State
        if state is one.FAULT:
            if word & 0x80 and not before & 0x80 and not self.fault_lasts:
                self.state = one.SWITCH_ON_DISABLED
                self.report_error(0, 0)
        elif not word & 0x02 or (not word & 0x04 and state in (one.READY, one.SWITCHED_ON)):
            if state not in (one.NOT_READY, one.FAULT_REACTION):
                self.state, self._stays_off = one.SWITCH_ON_DISABLED, False
        elif self._stays_off:
            pass
        elif not word & 0x04:
            self.state = one.QUICK_STOP if state is one.ENABLED else state
        elif not word & 0x01:
            self.state = one.READY if state in (one.SWITCH_ON_DISABLED, one.SWITCHED_ON, one.ENABLED) else state
        elif state in (one.READY, one.SWITCHED_ON, one.ENABLED):
            self.state = one.ENABLED if word & 0x08 else one.SWITCHED_ON
        if ran != self._powered:
            self.seen[0 if ran else 1].append((self.node, t_ns))
        self._drive(0.0)

    def _drive(self, seconds: float) -> bool:
        """Command the wheel by state and target; whether a ramp goes on."""
        if not self._powered or self.objects[0x6060, 0] != protocol.PROFILE_VELOCITY:
            if self._held is not None:
                self._held = None
                self._wheels.cut(self._wheel)
            return False
        if self._held is None:
            self._speed = self._wheels.speed_radps(self._wheel) * self._units
        target = self.objects[0x60FF, 0] if self.state is Cia402State.ENABLED else 0
        grows = abs(target) > abs(self._speed)
        most = self.objects[0x6083 if grows else 0x6084, 0] * seconds
        self._speed += max(-most, min(most, target - self._speed))
        if self._speed != self._held:
            self._held = self._speed
            self._wheels.hold(self._wheel, self._speed / self._units)
        return self._speed != target

    def _process_data(self) -> Iterator[CanFrame]:
        for parameters in _PDOS[4:]:
            identifier = self.objects[parameters, 1]
            if not identifier & protocol.OFF and self.objects[parameters, 2] == protocol.EACH_SYNC:
                data = b"".join(self._bytes_of(entry) for entry in self._mapped(parameters))
                yield from (CanFrame(identifier & 0x7FF, data),) * (1 + self.twin)

    def _take_process_data(self, identifier: int, data: bytes, t_ns: int) -> None:
        for parameters in _PDOS[:4]:
            if self.objects[parameters, 1] != identifier:
                continue
            entries = self._mapped(parameters)
            if len(data) < sum(entry.size for entry in entries):
                self.report_error(TOO_SHORT, self.register | _COMMUNICATION)
                return
            place = 0
            for entry in entries:
                self._set(entry, entry.unpack(data[place : place + entry.size]), t_ns)
                place += entry.size

    def _mapped(self, parameters: int) -> list[Entry]:
        mapping = parameters + 0x200
        each = [self.objects[mapping, 1 + place] for place in range(self.objects[mapping, 0])]
        return [_ENTRIES[value >> 16, value >> 8 & 0xFF] for value in each]

    def _serve(self, request: bytes, t_ns: int) -> bytes:
        """The answer to an SDO."""
        command, address = request[0], request[1:4]
        try:
            if command & 0xE0 == 0x60:
                part, self._text = self._text[:7], self._text[7:]
                head = command & 0x10 | 7 - len(part) << 1 | (not self._text)
                return bytes((head,)) + part.ljust(7, b"\0")
            index, sub = struct.unpack("<HB", address)
            if command & 0xE0 == 0x40:
                data = self._read(index, sub)
                if len(data) > 4:
                    self._text = data
                    return b"\x41" + address + len(data).to_bytes(4, "little")
                return bytes((0x43 | 4 - len(data) << 2,)) + address + data.ljust(4, b"\0")
            if command & 0xE3 != 0x23:
                raise SdoAbortError(protocol.UNKNOWN_COMMAND)
            self._write(index, sub, request[4 : 8 - (command >> 2 & 3)], t_ns)
        except SdoAbortError as error:
            return protocol.abort(address, error.code)
        return b"\x60" + address + bytes(4)

    def _read(self, index: int, sub: int) -> bytes:
        if (index, sub) == (0x1008, 0):
            return NAME
        if (entry := _ENTRIES.get((index, sub))) is None or not self._has(entry):
            known = any(one == index and self._has(entry) for (one, _), entry in _ENTRIES.items())
            raise SdoAbortError(protocol.NO_SUB_INDEX if known else protocol.NO_OBJECT)
        return self._bytes_of(entry)

    def _write(self, index: int, sub: int, data: bytes, t_ns: int) -> None:
        self._read(index, sub)
        entry = _ENTRIES.get((index, sub))
        if entry is None or (index, sub) not in self.objects or index in _CONSTANT:
            raise SdoAbortError(protocol.READ_ONLY)
        if len(data) != entry.size:
            raise SdoAbortError(protocol.WRONG_LENGTH)
        value = entry.unpack(data)
        if index - 0x200 in _PDOS:
            if not self.objects.get((index - 0x200, 1), 0) & protocol.OFF:
                raise SdoAbortError(protocol.NOT_NOW)
            if sub and value and _MAPPABLE.get(value >> 8) != value & 0xFF:
                raise SdoAbortError(protocol.NOT_MAPPABLE)
        if index == 0x6060 and not self.objects[0x6502, 0] >> max(value, 1) - 1 & 1:
            raise SdoAbortError(protocol.NOT_ALLOWED)
        self._set(entry, value, t_ns)

    def _set(self, entry: Entry, value: int, t_ns: int) -> None:
        key = entry.index, entry.sub
        before = self.objects.get(key, 0)
        self.objects[key] = value
        if entry.index == protocol.CONTROLWORD.index:
            self._control(value, before, t_ns)

    def _has(self, entry: Entry) -> bool:
        key = entry.index, entry.sub
        return key in self.objects or key in _MEASURED

    def _bytes_of(self, entry: Entry) -> bytes:
        if entry.index == protocol.IDENTITY[0].index and entry.sub:
            return entry.pack(self.identity[entry.sub - 1])
        values: dict[tuple[int, int], Callable[[], float]] = {
            (0x1001, 0): lambda: self.register,
            (0x6041, 0): lambda: self.state.statusword | _ENABLED_BITS | self.reported,
            (0x6061, 0): lambda: self.objects[0x6060, 0],
            (0x606C, 0): lambda: self._wheels.speed_radps(self._wheel) * self._units,
            (0x6078, 0): lambda: self._wheels.current_A(self._wheel) * self._sign * 1e6 / RATED_MA,
            (0x6079, 0): lambda: self._wheels.supply_V() * 1e3,
        }
        key = entry.index, entry.sub
        return entry.pack(round(values[key]()) if key in values else self.objects[key])

    @property
    def _sign(self) -> int:
        return 1 if self._units > 0 else -1


def _entries() -> Iterator[Entry]:
    """All entries that a drive may have."""
    for value in vars(protocol).values():
        each = (value,) if isinstance(value, Entry) else value if isinstance(value, tuple) else ()
        yield from (one for one in each if isinstance(one, Entry) and one.size)
    yield Entry(0x1017, 0, 2, "producer heartbeat time")
    yield from (Entry(index, 0, 1, "highest sub-index") for index in (0x1016, 0x1018, 0x1029, *_PDOS))
    for parameters in _PDOS:
        yield from (Entry(parameters, 1, 4, "identifier"), Entry(parameters, 2, 1, "transmission type"))
        yield Entry(parameters + 0x200, 0, 1, "number of mapped entries")
        yield from (Entry(parameters + 0x200, sub, 4, "mapped entry") for sub in range(1, 9))


_ENTRIES = {(entry.index, entry.sub): entry for entry in _entries()}
_MEASURED = {
    *((index, 0) for index in (0x1001, 0x6041, 0x6061, 0x606C, 0x6078, 0x6079)),
    *((0x1018, s) for s in range(1, 5)),
}


class Cia402Bus(SimAdapter):
    """Drives on one bus, behind an adapter.

    Attributes:
        drives: by node.
        stops, starts, timeouts: of all drives, see `SimDrive.seen`; the newest.
        kinds: of faults, of a drive (`node`, or the first one): status, the `value` that it reports as its `status`;
            identity, its serial number (`value`); object, a number (`index`, `sub`, `value`) that it has, or without a
            value has no longer; restart: it loses its power for a moment; twin: another drive has its node-ID.
    """

    kinds = ("status", "identity", "object", "restart", "twin")

    def __init__(self, drives: Sequence[SimDrive], bit_rate: int) -> None:
        super().__init__(drives, bit_rate)
        self.drives = {drive.node: drive for drive in drives}
        self.stops, self.starts, self.timeouts = seen = drives[0].seen
        for drive in drives:
            drive.seen = seen

    @override
    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        drive = self.drives[how.get("node", next(iter(self.drives)))]
        if kind == "identity":
            drive.identity[-1] = how["value"]
        elif kind == "twin":
            drive.twin = True
        elif kind == "restart":
            drive.restart()
        elif kind == "object":
            drive.change(how["index"], how.get("sub", 0), how.get("value"))
        elif how["status"] == ADAPTER.name:
            super().inject_fault(kind, how)
        elif how["status"] == status.STATE.name:
            drive.go(Cia402State(how["value"]))
        elif how["status"] == status.STATUSWORD.name:
            drive.reported = how["value"]
        elif how["status"] == status.REGISTER.name:
            drive.register = how["value"]
        else:
            drive.report_error(how["value"], drive.register)
