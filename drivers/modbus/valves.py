"""Valves on the coils of a Modbus RTU relay board or valve terminal, and regulators on registers.

Each of the cameras' trigger lines is one more coil.

A command that switches off is sent before all others, in one frame where the coils are neighbours; next are regulators
that all have to close. With `flash_on` the board itself switches off a coil that is not powered again in time; without
it, the coils stay on when the host dies. So do regulators without a watchdog.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import msgspec

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, SLICE_S, Alive, Host
from drivers.interfaces import DeviceError, Health, StopFrames, ValvesDevice
from drivers.messages import ValveCommand, ValveSample
from drivers.modbus import regulators, valve_requests
from drivers.modbus.line import RtuLine, of_both
from drivers.modbus.protocol import exchange_s
from drivers.modbus.regulators import Regulators
from drivers.modbus.section import ModbusValvesSection
from drivers.modbus.valve_requests import REFRESH_AT, ValveRequests, runs

NAME = "Modbus valves"


class ModbusValves(ValvesDevice):
    """Writes and reads touch memory only, each step makes one transaction.

    It powers nothing and opens no regulator until the safe command and then another have been written: after opening,
    after a failure, and after a silence in which a device has switched off by itself.

    Args:
        section: of the config.
        rig: with the valves, the regulators and the cameras' trigger lines.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self, section: ModbusValvesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self.requests, self._section, self._host = ValveRequests(section, rig), section, host
        requests, timeout_s = self.requests, valve_requests.ANSWER_TIMEOUT_S
        baud, characters = requests.line
        self._line = regulated = RtuLine(NAME, section.port, baud, timeout_s, host, alive, characters=characters)
        if (port := requests.regulators_port) is not None:
            baud, characters = requests.regulator_line
            regulated = RtuLine(regulators.NAME, port, baud, timeout_s, host, alive, characters=characters)
        self._regulated = regulated
        self._regulators = Regulators(requests, regulated, host)
        self._names, self._all = requests.valves.outputs, range(len(requests.coils))
        self._period_ns, self._flash_ns = round(1e9 / section.rate_hz), round(section.flash_s * 1e9)
        self._due_ns = 0
        self._todo: deque[Callable[[], None]] = deque()
        self._on: list[bool | None] = [None for _ in self._all]  # as confirmed; None: unknown, to be switched off
        self._held_ns = [0 for _ in self._all]
        self._pressure_Pa = (math.nan,) * len(requests.valves.valves)
        self._measured_ns = self._coils_ns = self._acknowledged_ns = -1
        self._taken_ns: deque[int] = deque(maxlen=20)
        self._sequence = 0
        self._sample: ValveSample | None = None
        self._command: ValveCommand | None = None
        self._safe_received, self._target = False, [False for _ in self._all]

    def open(self) -> None:
        """Find the board, switch all valves off and check it; set the supply, and close the regulators that are moved.

        Raises:
            DeviceError: no board at this address, a coil that stays on, no such register.
        """
        self._line.open()
        self._on = [None for _ in self._all]
        self._todo.clear()
        self._taken_ns.clear()
        self._sample, self._coils_ns, self._acknowledged_ns = None, -1, -1
        self._disarm()
        try:
            if self._regulated is not self._line:
                self._regulated.open()
            self._line.ask(self.requests.read_coils())  # a device that answers this is a board with our coils
            while self._to_switch_off():
                self._switch_off()
            self._read_coils()
            self._regulators.open(self._line)
            self._read_pressures()
        except DeviceError:
            self.close()
            raise
        self._due_ns = self._host.now_ns()

    def close(self) -> None:
        """Close the ports."""
        self._line.close()
        self._regulated.close()

    def health(self) -> Health:
        """Returns the state of the links."""
        how = f"flash-on {self._section.flash_s:g} s" if self._section.flash_on else "no dead-man"
        powered = ", ".join(self._names[valve] for valve in self._all if self._on[valve]) or "all off"
        health = self._line.health(f"board at address {self._section.address}, {how}, {powered}")
        if self._regulated is not self._line:
            health = of_both(health, self._regulated.health(""))
        spans = len(self._taken_ns) - 1
        if spans < 1:
            return health
        rate_hz = spans * 1e9 / max(self._taken_ns[-1] - self._taken_ns[0], 1)
        return msgspec.structs.replace(health, rate_hz=rate_hz)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """All valves off and all moved regulators closed; sent twice: what was cut short before may spoil the first."""
        off = [self.requests.switch(run, False) for run in runs(list(self.requests.coils))]
        closed = self.requests.regulator_requests()
        lines = [(self._line, self._section.port, self.requests.line, off)]
        if self._regulated is self._line:
            off += closed
        else:
            lines.append((self._regulated, self.requests.regulators_port or "", self.requests.regulator_line, closed))
        return tuple(
            StopFrames(
                line.device,
                port,
                baud,
                tuple(request.frame for request in requests) * 2,
                max(exchange_s(request, baud, characters) for request in requests),
                characters,
            )
            for line, port, (baud, characters), requests in lines
        )

    def write(self, command: ValveCommand) -> None:
        """Accept a command; one that is not the safe one only after the safe one."""
        valves = self.requests.valves
        if not self._safe_received and not valves.is_safe(command):
            return
        self._safe_received = True
        self._command, self._target = command, list(valves.switched(command))
        self._regulators.want(valves.pressures(command), command.t_ns)

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
        self._safe_received, self._command, self._target = False, None, [False for _ in self._all]
        self._regulators.release()

    def _act(self) -> None:
        now_ns = self._host.now_ns()
        if self._oldest_ns(now_ns) >= self._flash_ns or self._regulators.closed_by_watchdog(now_ns):
            self._disarm()  # after our silence a device has switched off, and no new command has been written
        if now_ns >= self._due_ns and not self._todo:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
            self._todo.extend([*self._regulators.writes(), self._read_pressures, self._read_coils])
        if self._to_switch_off():
            self._switch_off()
        elif not self._regulators.close_next():
            self._act_next(now_ns)
        self._acknowledge()

    def _act_next(self, now_ns: int) -> None:
        """What may wait for whatever makes the rig safe."""
        if missing := [valve for valve in self._all if self._target[valve] and not self._on[valve]]:
            self._switch_on(missing)
        elif self._oldest_ns(now_ns) >= REFRESH_AT * self._flash_ns:
            self._flash(min((valve for valve in self._all if self._on[valve]), key=self._held_ns.__getitem__))
        elif self._todo:
            self._todo.popleft()()
        else:
            self._host.rest(max(min((self._due_ns - now_ns) * 1e-9, SLICE_S), 0.0))

    def _oldest_ns(self, now_ns: int) -> int:
        """Longest time since a powered coil was last refreshed; 0 without flash-on."""
        ages_ns = [now_ns - self._held_ns[valve] for valve in self._all if self._on[valve]]
        return max(ages_ns, default=0) if self._section.flash_on else 0

    def _to_switch_off(self) -> list[range]:
        """Returns the groups of neighbouring coils that have to be off and of which at least one is not known to be."""
        coils = self.requests.coils
        unsure = {coils[valve] for valve in self._all if not self._target[valve] and self._on[valve] is not False}
        off = runs([coils[valve] for valve in self._all if not self._target[valve]])
        return [run for run in off if unsure.intersection(run)]

    def _switch_off(self) -> None:
        run, command = self._to_switch_off()[0], self._command
        self._line.ask(self.requests.switch(run, False))
        self._note(run, False, command)

    def _switch_on(self, valves: list[int]) -> None:
        if self._section.flash_on:
            self._flash(valves[0])
            return
        run, command = runs([self.requests.coils[valve] for valve in valves])[0], self._command
        self._note(run, None, None)
        self._line.ask(self.requests.switch(run, True))
        self._note(run, True, command)

    def _flash(self, valve: int) -> None:
        coil, command = self.requests.coils[valve], self._command
        self._note(range(coil, coil + 1), None, None)
        self._line.ask(self.requests.flash(coil))
        self._held_ns[valve] = self._line.sent_ns
        self._note(range(coil, coil + 1), True, command)

    def _note(self, run: range, on: bool | None, command: ValveCommand | None) -> None:
        """Record the state of coils that the board has confirmed, and with it the command if it is complete."""
        for valve in self._all:
            if self.requests.coils[valve] in run:
                self._on[valve] = on
        self._follow(command)

    def _follow(self, command: ValveCommand | None) -> None:
        """The coils are confirmed to be as in a command once all are known to be."""
        if command is not None and self._on == list(self.requests.valves.switched(command)):
            self._coils_ns = command.t_ns

    def _acknowledge(self) -> None:
        """A command is confirmed once coils and regulators follow it, or a newer one."""
        confirmed_ns = min(self._coils_ns, self._regulators.confirmed_ns)
        if confirmed_ns > self._acknowledged_ns:
            self._acknowledged_ns = confirmed_ns
            self._take()

    def _read_coils(self) -> None:
        """Check that the coils are as confirmed. Raises DeviceError."""
        command, first = self._command, min(self.requests.coils)
        coils = self._line.ask(self.requests.read_coils())
        for valve, coil in enumerate(self.requests.coils):
            if coils[coil - first] != self._on[valve]:
                reads, said = ("on", "off") if coils[coil - first] else ("off", "on")
                self._on[valve] = None
                raise DeviceError(
                    f"{self._line.name}: coil {coil} ({self._names[valve]}) reads {reads} and was switched "
                    f"{said}; check the board's power, and that no other program commands it"
                )
        self._follow(command)
        if self.requests.pressures is None:
            self._measured()

    def _read_pressures(self) -> None:
        """Read those of all chambers. Raises DeviceError: one is none that a chamber can have."""
        if (pressures := self.requests.pressures) is None:
            return
        held: dict[int, int] = {}
        for span, request in zip(pressures.spans(), self.requests.read_pressures(), strict=True):
            words = self._line.ask(request)
            held |= dict(zip(span, words, strict=True))
        self._pressure_Pa = pressures.pressures_Pa(held)
        lowest_kPa, highest_kPa = pressures.section.lowest_kPa, pressures.section.highest_kPa
        for name, pressure_Pa in zip(self._names, self._pressure_Pa, strict=False):  # a trigger line has none
            if not lowest_kPa * 1e3 <= pressure_Pa <= highest_kPa * 1e3:
                raise DeviceError(
                    f"{self._line.name}: pressure of {name} {pressure_Pa * 1e-3:.4g} kPa, allowed: "
                    f"{lowest_kPa:g} to {highest_kPa:g} (lowest_kPa, highest_kPa of "
                    "devices.valves.pressure_registers); check signed, bits, word_order, kPa_per_count and zero_counts "
                    "there, and the sensor"
                )
        self._measured()

    def _measured(self) -> None:
        self._measured_ns = self._host.now_ns()
        self._taken_ns.append(self._measured_ns)
        self._take()

    def _take(self) -> None:
        """Store a sample for the next read; its time is that of the newest reading."""
        self._sequence += 1
        # a chamber without a valve is open to atmosphere
        without_Pa = math.nan if self.requests.pressures is None else 0.0
        pressures = self.requests.valves.by_cylinder(self._pressure_Pa, without_Pa)
        self._sample = ValveSample(self._sequence, self._measured_ns, pressures, self._acknowledged_ns)
