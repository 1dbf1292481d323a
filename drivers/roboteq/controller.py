"""One dual-channel Roboteq controller on its port: its requests, and how far it is known to be stopped."""

from __future__ import annotations

import math
from enum import Enum

from drivers.host import Alive, Host
from drivers.interfaces import ControllerState, DeviceError
from drivers.power import ControllerPower
from drivers.roboteq import protocol
from drivers.roboteq.protocol import Exchange, FaultFlag
from drivers.roboteq.settings import SLOW, SPEEDS, STOP, RoboteqControllerSettings, RoboteqSettings
from drivers.serial.link import SerialLink

NAME = "Roboteq drives"
ZERO = Exchange((*(protocol.go(channel, 0) for channel in protocol.CHANNELS), protocol.FAULTS), (1,))
RELEASE_STOP = Exchange((protocol.RELEASE,))
# A controller counts as timed out from this share of its watchdog's time on.
SILENT_AT = 0.9


class StopState(Enum):
    """How far a controller is known to be stopped."""

    MAY_RUN = 0
    STOPPED = 1  # it has accepted the emergency stop
    ZERO = 2  # its set-points are zero too, and it reports the stop


class RoboteqController:
    """Its port and its reported state.

    Attributes:
        controller: its port and wheels.
        link: its port.
        stop_state: how far it is known to be stopped.
        stopped_ns: when the last byte of its newest stop was sent [ns].
        rpm: of its motors [1/min].
        faults: last reading.
        slow: last reading of the other slow state, by query.
    """

    def __init__(
        self, settings: RoboteqSettings, controller: RoboteqControllerSettings, host: Host, alive: Alive
    ) -> None:
        self._settings, self.controller = settings, controller
        timeout_s = settings.answer_timeout_ms * 1e-3
        self.link = SerialLink(NAME, controller.port, settings.baud, timeout_s=timeout_s, host=host, alive=alive)
        self.stop_state, self.stopped_ns, self._fed_ns = StopState.MAY_RUN, -1, 0
        self.rpm, self.faults = (0, 0), FaultFlag(0)
        self.slow: dict[str, tuple[int, ...]] = {}
        self._read_ns = dict.fromkeys((protocol.AMPS, protocol.VOLTS), -1)

    def open(self) -> None:
        """Stop it, before anything else. Raises DeviceError."""
        self.link.open()
        self.stop_state, opening = StopState.MAY_RUN, protocol.Opening()
        self.faults = self.link.ask(opening.frame, opening.missing, opening.decode)
        self._see(
            "stopped by !EX",
            bool(self.faults & FaultFlag.EMERGENCY_STOP),
            True,
            "is it a controller with firmware 1.8?",
        )
        self.stop_state = StopState.ZERO

    def set_up(self) -> None:
        """Set its watchdog, and check its configuration against the settings. Raises DeviceError."""
        self.ask(Exchange((protocol.set_watchdog(self._settings.watchdog_ms),)))
        self._read("watchdog [ms]", protocol.WATCHDOG, self._settings.watchdog_ms)
        for channel in protocol.CHANNELS:
            mode = f"MMOD of channel {channel} ({'open loop' if self._settings.open_loop else 'closed-loop speed'})"
            self._read(mode, protocol.operating_mode(channel), self._settings.operating_mode)
            self._read(f"MXRPM of channel {channel}", protocol.full_speed(channel), self._settings.max_rpm)

    def to_cut(self) -> Exchange | None:
        """Request that it still needs to be known as stopped."""
        return {StopState.MAY_RUN: STOP, StopState.STOPPED: ZERO, StopState.ZERO: None}[self.stop_state]

    def run(self, values: tuple[int, int]) -> Exchange:
        """Set-points of both channels, in thousandths."""
        return Exchange(
            tuple(protocol.go(channel, value) for channel, value in zip(protocol.CHANNELS, values, strict=True))
        )

    def silent(self, now_ns: int) -> bool:
        """Whether its watchdog may have stopped it: any next command would then let it run again."""
        limit_ns = SILENT_AT * self._settings.watchdog_ms * 1e6
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
        elif exchange in (ZERO, SLOW[0]):
            self.faults = FaultFlag(values[0][0])
            if exchange == ZERO:
                self.stop_state = StopState.ZERO if self.faults & FaultFlag.EMERGENCY_STOP else StopState.MAY_RUN
        elif exchange == SPEEDS:
            self.rpm = (values[0][0], values[0][1])
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
            f"{NAME} on {self.controller.port}",
            f"closed-loop speed, MXRPM {self._settings.max_rpm}, watchdog {self._settings.watchdog_ms} ms",
            volts[1] * 0.1 if volts else math.nan,
            tuple(amp * 0.1 for amp in amps),
            ", ".join(self._troubles()),
        )

    def power(self) -> ControllerPower:
        """Its newest readings."""
        state = self.state()
        currents = {
            wheel: self._settings.sign[wheel] * current
            for wheel, current in zip(self.controller.wheels, state.currents_A, strict=True)
        }
        return ControllerPower(min(self._read_ns.values()), {"current_A": currents, "supply_V": state.supply_V})

    def _troubles(self) -> list[str]:
        """Faults besides an emergency stop, which may be our own."""
        faults = self.faults & ~FaultFlag.EMERGENCY_STOP
        words = [str(fault.name).lower().replace("_", " ") for fault in FaultFlag if fault & faults]
        for channel, flags in zip(protocol.CHANNELS, self.slow.get(protocol.MOTOR_FLAGS, ()), strict=False):
            names = [str(flag.name).lower().replace("_", " ") for flag in protocol.MotorFlag if flag & flags]
            words += [f"channel {channel} {name}" for name in names]
        return words

    def _read(self, what: str, query: str, needed: int) -> None:
        exchange = Exchange((query,), (1,))
        ((value,),) = self.link.ask(exchange.frame, exchange.missing, exchange.decode)
        self._see(what, value, needed, "set it with the maker's program, or correct the settings")

    def _see(self, what: str, found: int, needed: int, remedy: str) -> None:
        if found != needed:
            raise DeviceError(f"{NAME} on {self.controller.port}: {what}: found {found}, needed {needed}; {remedy}")
