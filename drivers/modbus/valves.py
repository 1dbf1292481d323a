"""Valves on the coils of a Modbus RTU relay board or valve terminal.

A command that switches off is sent before all others, in one frame where the coils are neighbours. With `flash_on` the
board itself switches off a coil that is not powered again in time; without it, the coils stay on when the host dies.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import msgspec

from drivers.host import COMPUTER, SLICE_S, Alive, Host
from drivers.interfaces import DeviceError, Health, StopFrames
from drivers.messages import ValveCommand, ValveSample
from drivers.modbus import protocol
from drivers.modbus.settings import REFRESH_AT, VALVES, ModbusValvesSettings, budget, check, runs
from drivers.serial.link import SerialLink

__all__ = ["ModbusValves", "ModbusValvesSettings", "budget", "check"]

T = TypeVar("T")
NAME = "Modbus valves"
_ALL = range(len(VALVES))
# Longest wait of a step that has nothing to do [s]: a new command may wait for it.
REST_S = 0.001


class ModbusValves:
    """A `PolledDevice`: writes and reads touch memory only, each step makes one transaction.

    It powers nothing until all off and then a power command has been written: after opening, after a failure, and after
    a silence in which the board has switched off by itself.

    Args:
        settings: see there.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Raises:
        ValueError: settings that cannot work.
    """

    def __init__(self, settings: ModbusValvesSettings, host: Host = COMPUTER, alive: Alive = lambda: None) -> None:
        check(settings)
        self.settings, self._host, self._alive = settings, host, alive
        timeout_s = settings.answer_timeout_ms * 1e-3
        self._link = SerialLink(NAME, settings.port, settings.baud, timeout_s=timeout_s, host=host, alive=alive)
        self._period_ns, self._flash_ns = round(1e9 / settings.rate_hz), round(settings.flash_s * 1e9)
        self._quiet_ns = self._due_ns = 0
        self._todo: deque[Callable[[], None]] = deque()
        self._on: list[bool | None] = [None] * len(VALVES)  # as confirmed; None: unknown, to be switched off
        self._held_ns = [0] * len(VALVES)
        self._pressure_Pa = (math.nan,) * len(VALVES)
        self._measured_ns = self._acknowledged_ns = -1
        self._taken_ns: deque[int] = deque(maxlen=20)
        self._sequence = 0
        self._sample: ValveSample | None = None
        self._command: ValveCommand | None = None
        self._off_received, self._target = False, [False] * len(VALVES)

    def open(self) -> None:
        """Find the board, switch all valves off and check it; set the regulator.

        Raises:
            DeviceError: no board at this address, a coil that stays on, no such register.
        """
        self._link.open()
        self._on = [None] * len(VALVES)
        self._todo.clear()
        self._taken_ns.clear()
        self._sample, self._acknowledged_ns = None, -1
        self._disarm()
        try:
            self._ask(self.settings.read_coils())  # a device that answers this is a board with our coils
            while self._to_switch_off():
                self._switch_off()
            self._read_coils()
            self._set_regulator()
            self._read_pressures()
        except DeviceError:
            self._link.close()
            raise
        self._due_ns = self._host.now_ns()

    def close(self) -> None:
        """Close the port."""
        self._link.close()

    def health(self) -> Health:
        """State of the link."""
        how = f"flash-on {self.settings.flash_s:g} s" if self.settings.flash_on else "no dead-man"
        powered = ", ".join(VALVES[valve] for valve in _ALL if self._on[valve]) or "all off"
        health = self._link.health(f"board at address {self.settings.address}, {how}, {powered}")
        spans = len(self._taken_ns) - 1
        if spans < 1:
            return health
        rate_hz = spans * 1e9 / max(self._taken_ns[-1] - self._taken_ns[0], 1)
        return msgspec.structs.replace(health, rate_hz=rate_hz)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """All valves off; sent twice, because an earlier frame that was cut short may spoil the first."""
        requests = [self.settings.switch(run, False) for run in runs(list(self.settings.coils))]
        pause_s = max(self.settings.exchange_s(request) for request in requests)
        frames = tuple(request.frame for request in requests) * 2
        return (StopFrames(NAME, self.settings.port, self.settings.baud, frames, pause_s),)

    def write(self, command: ValveCommand) -> None:
        """Accept a command; one that powers valves only after one that powers none."""
        target = [on for side in command.powered for on in side]
        if any(target) and not self._off_received:
            return
        self._off_received = True
        self._command, self._target = command, target

    def read(self, t_ns: int) -> ValveSample | None:  # noqa: ARG002
        """The newest sample, once."""
        sample, self._sample = self._sample, None
        return sample

    def step(self) -> None:
        """Switch off, switch on, refresh before flash_s is over, or read: the first of these that is due.

        Raises:
            DeviceError: from then on all valves are to be switched off until a new command.
        """
        try:
            self._act()
        except DeviceError:
            self._disarm()
            raise

    def _disarm(self) -> None:
        """Switch all off, and power nothing until that has been commanded too."""
        self._off_received, self._command, self._target = False, None, [False] * len(VALVES)

    def _act(self) -> None:
        now_ns = self._host.now_ns()
        if self._oldest_ns(now_ns) >= self._flash_ns:
            self._disarm()  # after our silence the board has switched off, and no new command has been written
        if now_ns >= self._due_ns and not self._todo:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
            self._todo.extend([self._read_pressures, self._read_coils])
        if self._to_switch_off():
            self._switch_off()
        elif missing := [valve for valve in _ALL if self._target[valve] and not self._on[valve]]:
            self._switch_on(missing)
        elif self._oldest_ns(now_ns) >= REFRESH_AT * self._flash_ns:
            self._flash(min((valve for valve in _ALL if self._on[valve]), key=self._held_ns.__getitem__))
        elif self._todo:
            self._todo.popleft()()
        else:
            self._rest(min(self._due_ns - now_ns, round(REST_S * 1e9)))

    def _oldest_ns(self, now_ns: int) -> int:
        """Longest time since a powered coil was last refreshed; 0 without flash-on."""
        ages_ns = [now_ns - self._held_ns[valve] for valve in _ALL if self._on[valve]]
        return max(ages_ns, default=0) if self.settings.flash_on else 0

    def _to_switch_off(self) -> list[range]:
        """Groups of neighbouring coils that have to be off and of which at least one is not known to be."""
        coils = self.settings.coils
        unsure = {coils[valve] for valve in _ALL if not self._target[valve] and self._on[valve] is not False}
        off = runs([coils[valve] for valve in _ALL if not self._target[valve]])
        return [run for run in off if unsure.intersection(run)]

    def _switch_off(self) -> None:
        run, command = self._to_switch_off()[0], self._command
        self._ask(self.settings.switch(run, False))
        self._note(run, False, command)

    def _switch_on(self, valves: list[int]) -> None:
        if self.settings.flash_on:
            self._flash(valves[0])
            return
        run, command = runs([self.settings.coils[valve] for valve in valves])[0], self._command
        self._note(run, None, None)
        self._ask(self.settings.switch(run, True))
        self._note(run, True, command)

    def _flash(self, valve: int) -> None:
        coil, command = self.settings.coils[valve], self._command
        self._note(range(coil, coil + 1), None, None)
        self._ask(self.settings.flash(coil))
        self._held_ns[valve] = self._link.sent_ns
        self._note(range(coil, coil + 1), True, command)

    def _note(self, run: range, on: bool | None, command: ValveCommand | None) -> None:
        """Record the state of coils that the board has confirmed, and with it the command if it is complete."""
        for valve in _ALL:
            if self.settings.coils[valve] in run:
                self._on[valve] = on
        self._acknowledge(command)

    def _acknowledge(self, command: ValveCommand | None) -> None:
        """A command is confirmed once all coils are known to follow it."""
        if command is None or command.t_ns == self._acknowledged_ns:
            return
        if self._on == [on for side in command.powered for on in side]:
            self._acknowledged_ns = command.t_ns
            self._take()

    def _read_coils(self) -> None:
        """Check that the coils are as confirmed. Raises DeviceError."""
        command, first = self._command, min(self.settings.coils)
        found = self._ask(self.settings.read_coils())
        for valve, coil in enumerate(self.settings.coils):
            if found[coil - first] != self._on[valve]:
                reads, said = ("on", "off") if found[coil - first] else ("off", "on")
                self._on[valve] = None
                raise DeviceError(
                    f"{NAME} on {self.settings.port}: coil {coil} ({VALVES[valve]}) reads {reads} and was switched "
                    f"{said}; check the board's power, and that no other program commands it"
                )
        self._acknowledge(command)
        if self.settings.pressure_registers is None:
            self._measured()

    def _read_pressures(self) -> None:
        request, registers = self.settings.read_pressures(), self.settings.pressure_registers
        if request is None or registers is None:
            return
        counts, scale = self._ask(request), self.settings.Pa_per_count
        self._pressure_Pa = tuple(counts[one - min(registers)] * scale for one in registers)
        self._measured()

    def _set_regulator(self) -> None:
        if (regulator := self.settings.regulator) is None:
            return
        self._ask(protocol.write_register(self.settings.address, regulator.register, regulator.counts))
        holding = protocol.Function.READ_HOLDING
        (found,) = self._ask(protocol.read_registers(self.settings.address, regulator.register, 1, holding))
        if found != regulator.counts:
            raise DeviceError(
                f"{NAME} on {self.settings.port}: regulator register {regulator.register} reads {found}, set: "
                f"{regulator.counts}; check the register and its range"
            )

    def _measured(self) -> None:
        self._measured_ns = self._host.now_ns()
        self._taken_ns.append(self._measured_ns)
        self._take()

    def _take(self) -> None:
        """Store a sample for the next read; its time is that of the newest reading."""
        self._sequence += 1
        a, b, c, d = self._pressure_Pa
        self._sample = ValveSample(self._sequence, self._measured_ns, ((a, b), (c, d)), self._acknowledged_ns)

    def _ask(self, request: protocol.Request[T]) -> T:
        self._rest(self._quiet_ns - self._host.now_ns())
        try:
            return self._link.ask(request.frame, request.missing, request.decode)
        except protocol.RefusedError as error:
            raise DeviceError(
                f"{NAME} on {self.settings.port}, address {self.settings.address}: {error}; check coils, "
                "registers, and whether the board supports flash-on"
            ) from error
        finally:
            self._quiet_ns = self._host.now_ns() + protocol.silence_ns(self.settings.baud)

    def _rest(self, duration_ns: int) -> None:
        """Wait, for instance for the silence that ends a frame."""
        until_ns = self._host.now_ns() + duration_ns
        while (left_ns := until_ns - self._host.now_ns()) > 0:
            self._host.sleep(min(left_ns * 1e-9, SLICE_S))
            self._alive()
