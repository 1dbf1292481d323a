"""One RoboClaw controller on its link, and duty 0 for all of them: at once, and until each has confirmed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from drivers.interfaces import ControllerState, DeviceError, DeviceIdentity, LinkLostError, StopFrames
from drivers.motor_controllers import ControllerPower
from drivers.reported import DeviceReport
from drivers.roboclaw import protocol
from drivers.roboclaw.motor_layout import RoboClawController, RoboClawMotorLayout
from drivers.roboclaw.protocol import READINGS, SLOW, CommandCode, Transaction
from drivers.serial.link import SerialLink

T = TypeVar("T")
# The version text of a controller with packet serial contains one of these.
FAMILIES = ("roboclaw", "mcp")
_UNREAD = {command: (math.nan,) * (READINGS[command].size // 2) for command in SLOW}


class Unit:
    """A dual controller.

    Args:
        motors: of all controllers.
        controller: address and motors.
        link: its bus.

    Attributes:
        controller: which one.
        link: its bus.
        where: its address and port, for messages.
        answered_ns: when the last byte of the newest answered request was sent [ns], -1 before.
        confirmed_ns: t_ns of the newest command that it has confirmed, -1 before.
        e_stop: its emergency stop is pressed.
        told_apart: another address of its port is another controller.
    """

    def __init__(self, motors: RoboClawMotorLayout, controller: RoboClawController, link: SerialLink) -> None:
        self.controller, self.link, self.where = controller, link, motors.where(controller)
        self._motors = motors
        self._form, self._status = protocol.NARROW, 0
        self.reset()

    def reset(self) -> None:
        """Reset the reported state, but for an emergency stop: the next status says whether it is released."""
        self._version, self._status = "not asked", self._status & self._form.bits.emergency_stop
        self._status_known = self.told_apart = False
        self._mark = ""
        self._readings = {command: _UNREAD[command] for command in SLOW}
        self._read_ns = dict.fromkeys(SLOW, -1)
        self.answered_ns = self.confirmed_ns = -1

    @property
    def e_stop(self) -> bool:
        """Its emergency stop is pressed."""
        return bool(self._status & self._form.bits.emergency_stop)

    def status_text(self) -> str:
        """Its reported state as text."""
        parts = [f"{self.where}: {self._version}"]
        for command, values in self._readings.items():
            if not math.isnan(values[0]):
                field, steps = SLOW[command]
                digits, unit = round(math.log10(steps)), field.rpartition("_")[2]
                parts.append(f"{' and '.join(f'{value:.{digits}f}' for value in values)} {unit}")
        if self._status_known:
            parts.append(f"status {self._status:#06x}")
        return ", ".join(parts)

    def state(self) -> ControllerState:
        """The same, item by item."""
        trouble = ", ".join(self._form.bits.words(self._status))
        (battery_V,), currents_A = self._readings[CommandCode.MAIN_BATTERY], self._readings[CommandCode.CURRENTS]
        return ControllerState(self.where, self._version, battery_V, currents_A, trouble)

    def reports(self) -> tuple[DeviceReport, ...]:
        """Returns what its status says, without the emergency stop."""
        return self._form.bits.reports(self._status, self.where)

    def identification(self) -> DeviceIdentity:
        """Returns which controller it is: by its mark, or its address."""
        alone = sum(self.controller.address == other.address for other in self._motors.controllers) == 1
        proof = "its address, which no other has" if alone and self.told_apart else ""
        return DeviceIdentity(self.where, self._mark, self.controller.identity, proof)

    def power(self) -> ControllerPower:
        """Its newest readings."""
        readings: dict[str, float | dict[int, float]] = {}
        for command, values in self._readings.items():
            field = SLOW[command][0]
            if len(values) == 1:
                before = readings.get(field, -math.inf)
                assert isinstance(before, float)
                readings[field] = max(values[0], before)  # NaN: one of them has not been read yet
            else:
                readings[field] = self._by_wheel(values)
        return ControllerPower(min(self._read_ns.values()), readings)

    def _by_wheel(self, values: tuple[float, ...]) -> dict[int, float]:
        each = zip(self.controller.channels, values, strict=True)
        return {motor: self._motors.sign_of(motor) * value for motor, value in each if motor is not None}

    def identify(self) -> None:
        """Identify it, set its serial time-out and cut it. Raises DeviceError."""
        address, steps = self.controller.address, self._motors.section.timeout_ms // protocol.TIMEOUT_STEP_MS
        self._version = self.ask(protocol.version(address))
        if not any(family in self._version.lower() for family in FAMILIES):
            raise DeviceError(f"{self.where}: no RoboClaw but {self._version!r}; check the port and the address")
        self._read_mark()
        self.identification().check()
        self._set_timeout(steps)
        timeout_steps = self._timeout()
        if timeout_steps != steps:
            raise DeviceError(
                f"{self.where}: serial time-out {timeout_steps * 100} ms, set: {steps * 100} ms; is it locked?"
            )
        self._form = self.ask(protocol.status_form(address))
        try:
            self.ask_slowly(CommandCode.TEMPERATURE_2)
        except DeviceError:  # a model with one sensor of temperature
            del self._readings[CommandCode.TEMPERATURE_2], self._read_ns[CommandCode.TEMPERATURE_2]
        self.set(CommandCode.DUTY, 0, 0)

    def is_also(self, other: Unit) -> bool:
        """Returns whether another address is that of the same controller: what is set at this one is read there.

        Raises:
            DeviceError: one of them does not answer.
        """
        steps = self._motors.section.timeout_ms // protocol.TIMEOUT_STEP_MS
        self._set_timeout(steps - 1 if steps > 1 else steps + 1)
        same = other._timeout() != steps
        self._set_timeout(steps)
        return same

    def _read_mark(self) -> None:
        """Raises DeviceError: the port is lost."""
        try:
            (mark,) = self.ask(protocol.mark(self.controller.address))
        except DeviceError:  # it has no such memory
            if not self.link.health("").open:
                raise
        else:
            self._mark = str(mark) if mark in protocol.MARKS else ""

    def _set_timeout(self, steps: int) -> None:
        """Raises DeviceError."""
        try:
            self.set(CommandCode.SET_TIMEOUT, steps)
        except LinkLostError:  # firmware 4.3.6 carries out a setting of one byte, and does not answer it
            if not self.link.health("").open:
                raise

    def _timeout(self) -> int:
        """Its serial time-out, in steps. Raises DeviceError."""
        (steps,) = self.ask(protocol.reading(self.controller.address, CommandCode.TIMEOUT))
        return steps

    def ask(self, transaction: Transaction[T]) -> T:
        """Make a transaction. Raises DeviceError that names the address."""
        try:
            value = self.link.ask(*transaction)
        except DeviceError as error:
            raise type(error)(f"address {self.controller.address:#04x}: {error}") from error
        self.answered_ns = self.link.sent_ns
        return value

    def set(self, command: CommandCode, *values: int) -> None:
        """Make a transaction that sets something. Raises DeviceError."""
        self.ask(protocol.setting(self.controller.address, command, *values))

    def confirm(self, command_ns: int) -> None:
        """Record that it has answered the newest request on its bus, for the command of a time [ns]."""
        self.answered_ns, self.confirmed_ns = self.link.sent_ns, max(self.confirmed_ns, command_ns)

    def speeds(self, command: CommandCode) -> dict[int, float]:
        """Read a speed, by wheel or joint [rad/s], with the sign of its motion; nothing where no motor is connected."""
        values = self.ask(protocol.reading(self.controller.address, command))
        motor = self.controller.channels[command is CommandCode.SPEED_M2]
        if motor is None:
            return {}
        motors, speed_qpps = self._motors, protocol.speed_qpps(values)
        return {motor: motors.sign_of(motor) * speed_qpps * math.tau / motors.counts_per_turn(motor)}

    def counts(self) -> dict[int, int]:
        """Read its encoder counts, by joint."""
        values = self.ask(protocol.reading(self.controller.address, CommandCode.COUNTS))
        each = zip(self.controller.channels, values, strict=True)
        return {motor: protocol.signed_count(count) for motor, count in each if motor is not None}

    def ask_slowly(self, command: CommandCode) -> None:
        """Read its status, or one of SLOW that it has."""
        address = self.controller.address
        if command is CommandCode.STATUS:
            (self._status,) = self.ask(protocol.status(address, self._form))
            self._status_known = True
            return
        if command not in self._readings:
            return
        steps = SLOW[command][1]
        self._readings[command] = tuple(value / steps for value in self.ask(protocol.reading(address, command)))
        self._read_ns[command] = self.answered_ns


class _StopTransaction(NamedTuple):
    """Duty 0 for controllers of a bus, in one write."""

    units: Sequence[Unit]
    link: SerialLink
    transaction: Transaction[None]

    def ask(self) -> None:
        """Write it and wait for the confirmations. Raises DeviceError."""
        try:
            self.link.ask(*self.transaction)
        except DeviceError as error:
            addresses = ", ".join(f"{unit.controller.address:#04x}" for unit in self.units)
            raise type(error)(f"stop of {addresses}: {error}") from error


class StopSequence:
    """All stops, and the unconfirmed ones.

    Args:
        units: all controllers.
        links: all buses.
    """

    def __init__(self, units: Sequence[Unit], links: Sequence[SerialLink]) -> None:
        self._links = links
        self._on = [[unit for unit in units if unit.link is link] for link in links]
        self._all = [
            _StopTransaction(on, link, protocol.together([_request(unit) for unit in on]))
            for link, on in zip(links, self._on, strict=True)
        ]
        self._pending: deque[_StopTransaction] = deque()

    def frames(self, device: str) -> tuple[StopFrames, ...]:
        """Frames that stop each bus; twice, more than a packet's gap apart: the first may follow half a packet."""
        return tuple(
            StopFrames(device, link.port, link.baud, (b"".join(map(_request, on)),) * 2, 1.1e-9 * protocol.GAP_NS)
            for link, on in zip(self._links, self._on, strict=True)
        )

    def __bool__(self) -> bool:
        """Some stops are unconfirmed."""
        return bool(self._pending)

    def begin(self) -> None:
        """Send all stops anew and await their confirmations: the first of every bus is sent now.

        A bus on which another answer is awaited gets it too: the controllers' lines to and from the host are separate.
        """
        self._pending = deque(self._all)
        for stop in self._all:
            with suppress(LinkLostError):  # the error is raised again when that bus is polled
                stop.link.post(stop.transaction.request)

    def drop(self) -> None:
        """Drop all pending stops."""
        self._pending = deque()

    def next(self, command_ns: int) -> None:
        """Confirm one stop.

        A stop without an answer goes to the end of the queue, so that the others are not delayed.

        Args:
            command_ns: t_ns of the cut that is confirmed with it, -1 for none.

        Raises:
            DeviceError: it was not confirmed.
        """
        pending = self._pending
        stop = pending[0]
        try:
            stop.ask()
        except DeviceError:
            pending.rotate(-1)
            raise
        pending.popleft()  # of a stop that began anew meanwhile nothing is confirmed
        for unit in stop.units:
            unit.confirm(command_ns)

    def try_all(self) -> None:
        """Try the stops once, as used later; every controller has answered alone before. Raises DeviceError."""
        for stop in self._all:
            try:
                stop.ask()
            except DeviceError as error:
                raise type(error)(
                    f"{error}; each controller alone has answered: if the answers collide, give each controller a "
                    "separate port (devices.drives.ports, devices.servos.ports)"
                ) from error

    def sent_ns(self) -> int:
        """Returns when the last byte of the last stop was sent [ns]; valid once all are confirmed."""
        return max(link.sent_ns for link in self._links)


def _request(unit: Unit) -> bytes:
    return protocol.request(unit.controller.address, CommandCode.DUTY, 0, 0)
