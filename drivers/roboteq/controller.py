"""One dual-channel Roboteq controller on its port: its requests, and how far it is known to be stopped."""

from __future__ import annotations

import math
from enum import Enum

from drivers.host import Alive, Host
from drivers.interfaces import ControllerState, DeviceError, DeviceIdentity
from drivers.motor_controllers import ControllerPower, for_each
from drivers.reported import DeviceReport
from drivers.roboteq import motor_layout, protocol, status
from drivers.roboteq.motor_layout import FAULTS, FLAGS, SLOW, STOP, RoboteqMotorLayout, RoboteqPort
from drivers.roboteq.protocol import Exchange, FaultFlag
from drivers.serial.link import SerialLink

RELEASE_STOP = Exchange((protocol.RELEASE,))
# A controller counts as timed out from this share of its watchdog's time on.
SILENT_AT = 0.9


class StopState(Enum):
    """How far a controller is known to be stopped."""

    MAY_RUN = 0
    STOPPED = 1  # it has accepted the emergency stop
    ZERO = 2  # its set-points are at rest too, and it reports the stop


class RoboteqController:
    """Its port and its reported state.

    Attributes:
        controller: its port and motors.
        link: its port.
        stop_state: how far it is known to be stopped.
        stopped_ns: when the last byte of its newest stop was sent [ns].
        values: of the newest reading, by channel: speeds of its motors [1/min], or counts.
        faults: last reading.
        slow: last reading of the other slow state, by query.
        identification: which controller it is.
    """

    def __init__(self, motors: RoboteqMotorLayout, controller: RoboteqPort, host: Host, alive: Alive) -> None:
        self._motors, self.controller = motors, controller
        self._watchdog_ms, timeout_s = motors.section.watchdog_ms, motor_layout.ANSWER_TIMEOUT_S
        self.link = SerialLink(
            motors.device, controller.port, motors.section.baud, timeout_s=timeout_s, host=host, alive=alive
        )
        self.stop_state, self.stopped_ns, self._fed_ns = StopState.MAY_RUN, -1, 0
        self.values, self.faults = (0, 0), FaultFlag(0)
        self.slow: dict[str, tuple[int, ...]] = {}
        self.identification = DeviceIdentity(self._where, "", controller.identity)
        self._read_ns = dict.fromkeys((protocol.AMPS, protocol.VOLTS), -1)

    def open(self) -> None:
        """Stop it, before anything else. Raises DeviceError."""
        self.link.open()
        self.stop_state, opening = StopState.MAY_RUN, protocol.OpeningLine(self._motors.at_rest)
        self.faults = self.link.ask(opening.frame, opening.missing, opening.decode)
        self._see(
            "stopped by !EX",
            bool(self.faults & FaultFlag.EMERGENCY_STOP),
            True,
            "is it a controller with firmware 1.8?",
        )
        self.stop_state = StopState.ZERO if self._motors.at_rest else StopState.STOPPED

    def set_up(self) -> None:
        """Check which it is, stop its script, set its watchdog, and compare its configuration. Raises DeviceError.

        The commands of a MicroBasic script feed the watchdog, so while one runs nothing stops a motor whose host is
        dead. A script that starts at power-up could move a motor before this driver is there.
        """
        found = self.link.ask(
            protocol.ProcessorQuery.frame, protocol.ProcessorQuery.missing, protocol.ProcessorQuery.decode
        )
        self.identification = DeviceIdentity(self._where, found, self.controller.identity)
        self.identification.check()
        self.ask(Exchange((protocol.STOP_SCRIPT,)))
        self.ask(FLAGS)
        self._see("script runs (?FS)", self.slow[protocol.FLAGS][0] & status.SCRIPT_RUNS, 0, "!R 0 has not stopped it")
        self.ask(Exchange((protocol.set_watchdog(self._watchdog_ms),)))
        wanted = [
            ("script at power-up (BRUN)", protocol.SCRIPT_AT_POWER_UP, 0),
            ("watchdog [ms]", protocol.WATCHDOG, self._watchdog_ms),
        ]
        for channel, motor in self.by_channel:
            wanted += self._motors.needed(channel, motor)
        for_each(wanted, lambda setting: self._read(*setting))

    def to_cut(self) -> Exchange | None:
        """Request that it still needs to be known as stopped."""
        return {StopState.MAY_RUN: STOP, StopState.STOPPED: self.zero, StopState.ZERO: None}[self.stop_state]

    @property
    def zero(self) -> Exchange:
        """Set-points at rest, and the faults: zero; in position mode the counts that were read last."""
        commands = self._motors.at_rest or tuple(
            protocol.go_to(channel, self.values[channel - 1]) for channel, _ in self.by_channel
        )
        return Exchange((*commands, protocol.FAULTS), (1,))

    @property
    def by_channel(self) -> list[tuple[int, int]]:
        """Its channels that have a motor, each with it."""
        each = zip(protocol.CHANNELS, self.controller.channels, strict=True)
        return [(channel, motor) for channel, motor in each if motor is not None]

    def silent(self, now_ns: int) -> bool:
        """Returns whether its watchdog may have stopped it: any next command would then let it run again."""
        limit_ns = SILENT_AT * self._watchdog_ms * 1e6
        return self.stop_state is StopState.MAY_RUN and now_ns - self._fed_ns >= limit_ns

    def post(self, exchange: Exchange) -> None:
        """Send without waiting. Raises LinkLostError."""
        if exchange == RELEASE_STOP:
            self.stop_state = StopState.MAY_RUN
        self.link.post(exchange.frame)

    def ask(self, exchange: Exchange) -> None:
        """Await the answer to the request, and send it first if not yet sent. Raises DeviceError."""
        values = self.link.ask(exchange.frame, exchange.missing, exchange.decode)
        if exchange.commands[0][0] == "!":
            self._fed_ns = self.link.sent_ns
        if exchange == STOP:
            self.stop_state, self.stopped_ns = StopState.STOPPED, self.link.sent_ns
        elif exchange == FAULTS or exchange.stops_and_reports:
            self.faults = FaultFlag(values[0][0])
            if exchange.stops_and_reports:
                self.stop_state = StopState.ZERO if self.faults & FaultFlag.EMERGENCY_STOP else StopState.MAY_RUN
        elif exchange == self._motors.reading:
            self.values, self.faults = (values[0][0], values[0][1]), FaultFlag(values[1][0])
        elif exchange in SLOW:
            self.slow[exchange.commands[0]] = values[0]
            if exchange.commands[0] in self._read_ns:
                self._read_ns[exchange.commands[0]] = self.link.sent_ns

    def detail(self) -> str:
        """Its reported state as text."""
        said = []
        if volts := self.slow.get(protocol.VOLTS):
            said.append(f"{volts[1] * 0.1:.1f} V")
        if amps := self.slow.get(protocol.AMPS):
            said.append(" and ".join(f"{amp * 0.1:.1f} A" for amp in amps))
        said += self._troubles()
        return f"{self.controller.port}: {', '.join(said) or 'nothing read yet'}"

    def state(self) -> ControllerState:
        """The same, item by item."""
        volts, amps = self.slow.get(protocol.VOLTS), self.slow.get(protocol.AMPS, (math.nan,) * len(protocol.CHANNELS))
        return ControllerState(
            self._where,
            f"{self._motors.mode}, watchdog {self._watchdog_ms} ms",
            volts[1] * 0.1 if volts else math.nan,
            tuple(amp * 0.1 for amp in amps),
            ", ".join(self._troubles()),
        )

    def power(self) -> ControllerPower:
        """Its newest readings."""
        state = self.state()
        currents = {
            motor: self._motors.sign_of(motor) * current
            for motor, current in zip(self.controller.channels, state.currents_A, strict=True)
            if motor is not None
        }
        return ControllerPower(min(self._read_ns.values()), {"current_A": currents, "supply_V": state.supply_V})

    def reports(self) -> tuple[DeviceReport, ...]:
        """Returns what its flags say, without an emergency stop, which may be our own."""
        port, said = self.controller.port, status.FAULTS.reports(self.faults, self.controller.port)
        for channel, flags in zip(protocol.CHANNELS, self.slow.get(protocol.MOTOR_FLAGS, ()), strict=False):
            said += status.MOTOR.reports(flags, f"channel {channel} on {port}")
        for flags in self.slow.get(protocol.FLAGS, ()):
            said += status.CONTROLLER.reports(flags, port)
        return said

    @property
    def _where(self) -> str:
        return f"{self._motors.device} on {self.controller.port}"

    def _troubles(self) -> list[str]:
        """The same in few words."""
        words = status.FAULTS.words(self.faults)
        for channel, flags in zip(protocol.CHANNELS, self.slow.get(protocol.MOTOR_FLAGS, ()), strict=False):
            words += [f"channel {channel} {found}" for found in status.MOTOR.words(flags)]
        for flags in self.slow.get(protocol.FLAGS, ()):
            words += status.CONTROLLER.words(flags)
        return words

    def _read(self, what: str, query: str, needed: int) -> None:
        exchange = Exchange((query,), (1,))
        ((value,),) = self.link.ask(exchange.frame, exchange.missing, exchange.decode)
        self._see(what, value, needed, "set it with the maker's program, or correct the settings")

    def _see(self, what: str, found: int, needed: int, remedy: str) -> None:
        if found != needed:
            raise DeviceError(f"{self._where}: {what}: found {found}, needed {needed}; {remedy}")
