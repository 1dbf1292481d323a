"""The requests of a rig's valves and regulators on Modbus: their line time, and what cannot work as set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from drivers.checks import repeated
from drivers.driver_type import RigSetup
from drivers.host import Characters
from drivers.modbus import protocol
from drivers.modbus.protocol import exchange_s
from drivers.modbus.section import MOST_COUNTS, MOST_SIGNED, ModbusValvesSection, PressureRegisters
from drivers.section import Problem

# Addresses defined by relay boards: all coils at once, and coil n for a given time, in steps of 0.1 s.
ALL_COILS = 0x00FF
FLASH_ON = 0x0200
FLASH_STEP_S = 0.1
# A powered coil is powered again once this share of its time is over.
REFRESH_AT = 0.5
# How long an answer may take, line time included [s].
ANSWER_TIMEOUT_S = 0.06
_Pa_PER_kPa = 1e3


class Regulator(NamedTuple):
    """A proportional pressure regulator behind a holding register.

    Attributes:
        register: its set-point.
        address: of its device.
        Pa_per_count: of the register [Pa].
        zero_counts: the register's value at no pressure.
    """

    register: int
    address: int
    Pa_per_count: float
    zero_counts: int = 0

    def counts(self, pressure_Pa: float) -> int:
        """The register's value at a gauge pressure, or the nearest possible one."""
        return min(self.zero_counts + round(max(pressure_Pa, 0.0) / self.Pa_per_count), MOST_COUNTS)


class ChamberRegisters:
    """The registers with the pressures of the chambers that have a valve.

    Args:
        section: of the config.
        valves: names, in the order of the coils.

    Attributes:
        registers: the first of each chamber, in the order of the coils.
        Pa_per_count: of them [Pa].
        function: that reads them.
        words: registers of a number.
    """

    def __init__(self, section: PressureRegisters, valves: Sequence[str]) -> None:
        self.section, self.registers = section, section.in_order(valves)
        self.Pa_per_count = section.kPa_per_count * _Pa_PER_kPa
        self.function, self.words = protocol.FUNCTIONS[section.registers], section.bits // 16
        self._high_first = section.word_order == "high_first"

    def spans(self) -> list[range]:
        """Registers to read in one request each."""
        used = [register + word for register in self.registers for word in range(self.words)]
        return [range(min(used), max(used) + 1)] if self.section.read_gaps else runs(used)

    def pressures_Pa(self, held: Mapping[int, int]) -> tuple[float, ...]:
        """Returns the gauge pressure of each chamber [Pa].

        Args:
            held: each register as read.
        """
        counts = [
            protocol.number_of(
                [held[register + word] for word in range(self.words)],
                high_first=self._high_first,
                signed=self.section.signed,
            )
            for register in self.registers
        ]
        return tuple((count - self.section.zero_counts) * self.Pa_per_count for count in counts)

    def held(self, place: int, pressure_Pa: float) -> dict[int, int]:
        """Returns what a device holds in the registers of a chamber, by its place, at a gauge pressure [Pa]."""
        counts = self.section.zero_counts + round(pressure_Pa / self.Pa_per_count)
        nearest = protocol.nearest(counts, self.section.bits, signed=self.section.signed)
        return dict(
            enumerate(protocol.words_of(nearest, self.words, high_first=self._high_first), self.registers[place])
        )


class _LineLoads(NamedTuple):
    """Share of each second that the transactions of each line need, with all valves powered; switching is on top.

    Attributes:
        valves: of the line of the coils.
        regulators: of the line of the regulators; None: the same line.
    """

    valves: float
    regulators: float | None


class ValveRequests:
    """The requests to the board of the valves, and to the devices of the regulators.

    Args:
        section: of the config.
        rig: with the valves, the regulators and the cameras' trigger lines.

    Attributes:
        valves: which valves and moved regulators there are, and which trigger lines.
        coils: of each valve, and of each trigger line, in the order of `valves.outputs`.
        pressures: of the chambers with a valve; None: they are not measured, and NaN.
        supply: regulator that is set to supply_Pa when the link is opened; None: there is none.
        supply_Pa: gauge pressure [Pa].
        regulators: those that are moved during a run, in the order of `valves.regulators`.
        regulators_port: path of their port; None: that of the coils.
        watchdog: of each device with regulators; None: there is none.
        line: speed and characters of the line of the coils.
        regulator_line: those of the line of the regulators.
        regulator_addresses: each device with moved regulators.
    """

    def __init__(self, section: ModbusValvesSection, rig: RigSetup) -> None:
        self.section, self.valves, moved = section, rig.valves, section.regulators
        self.coils = section.coils.in_order(rig.valves.valves)
        if rig.valves.trigger and section.camera_trigger is not None:
            self.coils += (section.camera_trigger,)
        if rig.valves.triggers and section.camera_triggers is not None:
            self.coils += section.camera_triggers.in_order(rig.valves.triggers)
        registers, supply = section.pressure_registers, section.regulator
        self.pressures = ChamberRegisters(registers, rig.valves.valves) if registers else None
        self.supply, self.supply_Pa = None, rig.supply_kPa * _Pa_PER_kPa
        if supply is not None:
            self.supply = Regulator(supply.holding_register, section.address, supply.kPa_per_count * _Pa_PER_kPa)
        self.line = self.regulator_line = section.baud, section.characters
        self.regulators: tuple[Regulator, ...] = ()
        self.regulators_port = self.watchdog = None
        if moved is not None:
            Pa_per_count = moved.full_scale_kPa * _Pa_PER_kPa / (moved.full_scale_counts - moved.zero_counts)
            self.regulators = tuple(
                Regulator(place.holding_register, place.address or section.address, Pa_per_count, moved.zero_counts)
                for place in moved.in_order(rig.valves.regulators)
            )
            self.regulators_port, self.watchdog = moved.port, moved.watchdog
            self.regulator_line = moved.baud or section.baud, moved.characters or section.characters
        self.regulator_addresses = tuple(dict.fromkeys(regulator.address for regulator in self.regulators))

    def read_coils(self) -> protocol.ModbusRequest[tuple[bool, ...]]:
        """Read all from the first to the last coil in use."""
        return protocol.read_coils(self.section.address, min(self.coils), max(self.coils) - min(self.coils) + 1)

    def read_pressures(self) -> list[protocol.ModbusRequest[tuple[int, ...]]]:
        """One for each span of pressure registers; none where pressures are not measured."""
        if (pressures := self.pressures) is None:
            return []
        spans = pressures.spans()
        return [
            protocol.read_registers(self.section.address, span.start, len(span), pressures.function) for span in spans
        ]

    def flash(self, coil: int) -> protocol.ModbusRequest[None]:
        """Power a coil for flash_s."""
        return protocol.write_coil(self.section.address, FLASH_ON + coil, round(self.section.flash_s / FLASH_STEP_S))

    def switch(self, run: range, on: bool) -> protocol.ModbusRequest[None]:
        """Switch neighbouring coils: one frame for all (15) where there are two or more, else the shorter (5)."""
        if len(run) == 1:
            return protocol.write_coil(self.section.address, run[0], protocol.ON if on else protocol.OFF)
        return protocol.write_coils(self.section.address, run[0], (on,) * len(run))

    def regulate(self, group: tuple[int, ...], counts: tuple[int, ...]) -> protocol.ModbusRequest[None]:
        """Write a group of `regulator_groups`: one frame (16) where there are two or more, else the shorter (6).

        Args:
            group: indices of regulators.
            counts: of all regulators.
        """
        first = self.regulators[group[0]]
        if len(group) == 1:
            return protocol.write_register(first.address, first.register, counts[group[0]])
        return protocol.write_registers(first.address, first.register, tuple(counts[which] for which in group))

    def regulator_groups(self) -> list[tuple[int, ...]]:
        """Regulators by index that one frame can write: neighbours on one device."""
        groups = []
        for address in self.regulator_addresses:
            mine = {
                regulator.register: which
                for which, regulator in enumerate(self.regulators)
                if regulator.address == address
            }
            groups += [tuple(mine[register] for register in run) for run in runs(list(mine))]
        return groups

    def closed_counts(self) -> tuple[int, ...]:
        """(regulators,) their registers at no pressure."""
        return tuple(regulator.counts(0.0) for regulator in self.regulators)

    def board_requests(self) -> list[protocol.ModbusRequest[Any]]:
        """One of each request to the board that is made while running, but for those to regulators."""
        together = [self.switch(run, False) for run in runs(list(self.coils))]
        return [self.read_coils(), *together, *self.read_pressures()]

    def regulator_requests(self) -> list[protocol.ModbusRequest[Any]]:
        """Those that write each regulator once."""
        closed = self.closed_counts()
        return [self.regulate(group, closed) for group in self.regulator_groups()]

    def line_loads(self) -> _LineLoads:
        """Returns how busy the lines are."""
        read: list[protocol.ModbusRequest[Any]] = [self.read_coils(), *self.read_pressures()]
        valves = sum(exchange_s(request, *self.line) for request in read) * self.section.rate_hz
        if self.section.flash_on:
            valves += self._flashes_s() / (REFRESH_AT * self.section.flash_s)
        regulators = self._regulators_s() * self.section.rate_hz
        if self.regulators_port is None:
            return _LineLoads(valves + regulators, None)
        return _LineLoads(valves, regulators)

    def actuation_s(self) -> tuple[float, float]:
        """Returns how long a command may take at worst, to the answer of the last device [s].

        Returns:
            When one valve switches, and when every cylinder changes direction and every regulator its pressure: after a
            transaction in flight. A regulator that is moved also waits for its turn of `rate_hz`.
        """
        in_flight_s = max(exchange_s(request, *self.line) for request in self.board_requests())
        one_s = exchange_s(self.switch(range(self.coils[0], self.coils[0] + 1), False), *self.line)
        # a cylinder with one way switches once
        every_s = len(self.valves.outputs) * one_s + self._regulators_s()
        return in_flight_s + one_s, in_flight_s + every_s

    def least_flash_s(self) -> float:
        """Least flash_s: all refreshes and one other request must fit into what is left when a refresh is due."""
        slowest_s = max(exchange_s(request, *self.line) for request in self.board_requests())
        return (self._flashes_s() + max(slowest_s, self._regulators_s())) / (1.0 - REFRESH_AT)

    def _regulators_s(self) -> float:
        return sum(exchange_s(request, *self.regulator_line) for request in self.regulator_requests())

    def _flashes_s(self) -> float:
        return sum(exchange_s(self.flash(coil), *self.line) for coil in self.coils)


def runs(places: list[int]) -> list[range]:
    """Returns the groups of neighbouring coils or registers, so that no frame writes one that is not ours."""
    spans: list[range] = []
    for place in sorted(places):
        if spans and spans[-1].stop == place:
            spans[-1] = range(spans[-1].start, place + 1)
        else:
            spans.append(range(place, place + 1))
    return spans


FLASH_STEPS = range(1, 0x8000)
KEY = "devices.valves"


def problems(requests: ValveRequests) -> list[Problem]:
    """All errors; those of times only when all places are possible."""
    return [*_places(requests), *_regulators(requests)] or list(_times(requests))


def _places(requests: ValveRequests) -> Iterator[Problem]:
    last = ALL_COILS - 1 if requests.section.flash_on else 0xFFFF
    coils = requests.coils[: len(requests.valves.valves)]
    yield from _triggers(requests, len(coils), last)
    yield from _each(f"{KEY}.coils", "coil", coils, last, protocol.MAX_COILS)
    if (pressures := requests.pressures) is not None:
        yield from _pressures(pressures)


def _pressures(pressures: ChamberRegisters) -> Iterator[Problem]:
    key, words, section = f"{KEY}.pressure_registers", pressures.words, pressures.section
    most = protocol.MAX_REGISTERS + 1 - words if section.read_gaps else 0x10000
    yield from _each(key, "register", pressures.registers, 0x10000 - words, most)
    for one, next_one in pairwise(sorted({*pressures.registers})):
        if next_one - one < words:
            yield Problem(key, f"{one} and {next_one}", f"registers {words} apart, for {section.bits} bits each")
    least, most_counts = (protocol.nearest(far, section.bits, signed=section.signed) for far in (-(2**40), 2**40))
    yield from _within(f"{key}.zero_counts", section.zero_counts, least, most_counts)
    if not section.lowest_kPa < section.highest_kPa:
        found, needs = f"{section.lowest_kPa:g}", (f"{key}.highest_kPa",)
        yield Problem(f"{key}.lowest_kPa", found, f"less than {key}.highest_kPa", needs)


def _triggers(requests: ValveRequests, valves: int, last: int) -> Iterator[Problem]:
    """Check the coils of the cameras' trigger lines, which are read with those of the valves."""
    names, needs = requests.valves.outputs, (f"{KEY}.coils",)
    for place, trigger in list(enumerate(requests.coils))[valves:]:
        key, before = f"{KEY}.{names[place]}", requests.coils[:place]
        yield from _within(key, trigger, 0, last)
        if trigger in before:
            other = before.index(trigger)
            owner = f"of the valve {names[other]}" if other < valves else names[other]
            allowed = "a coil that no valve and no other trigger line has"
            yield Problem(key, f"coil {trigger}, which is that {owner}", allowed, needs)
        elif before and max(*before, trigger) - min(*before, trigger) >= protocol.MAX_COILS:
            allowed = f"a coil within {protocol.MAX_COILS} of those of the valves"
            yield Problem(key, f"{trigger}, with others on {min(before)} to {max(before)}", allowed, needs)


def _each(key: str, what: str, places: Sequence[int], last: int, span: int) -> Iterator[Problem]:
    """Check one coil or register for each valve, which are read in one go."""
    for place, times in repeated(places):
        yield Problem(key, f"{what} {place} for {times} valves", f"a different {what} for each valve")
    for place in places:
        yield from _within(key, place, 0, last)
    if places and max(places) - min(places) >= span:
        yield Problem(key, f"{min(places)} to {max(places)}", f"{what}s within {span} of each other")


def _regulators(requests: ValveRequests) -> Iterator[Problem]:
    if requests.supply is not None:
        key = f"{KEY}.regulator"
        most_Pa = MOST_SIGNED * requests.supply.Pa_per_count  # nothing says that it has no sign
        if not 0.0 <= requests.supply_Pa <= most_Pa:
            yield Problem(key, f"a supply of {requests.supply_Pa:g} Pa", f"0 to {most_Pa:g} Pa at this scale")
    if not requests.regulators:
        return
    key = f"{KEY}.regulators"
    for (address, register), times in repeated(
        [(regulator.address, regulator.register) for regulator in requests.regulators]
    ):
        found = f"register {register} at address {address} for {times} regulators"
        yield Problem(key, found, "a different register for each regulator")
    if requests.watchdog is not None and not 0 < requests.watchdog.counts <= MOST_SIGNED:
        found, allowed = f"{requests.watchdog.counts} counts of its register", f"1 to {MOST_SIGNED}"
        yield Problem(f"{key}.watchdog.timeout_ms", found, allowed)


def _times(requests: ValveRequests) -> Iterator[Problem]:
    yield from _answers(f"{KEY}.baud", requests.board_requests(), requests.line)
    key = f"{KEY}.baud" if requests.regulators_port is None else f"{KEY}.regulators.baud"
    yield from _answers(key, requests.regulator_requests(), requests.regulator_line)
    if requests.section.flash_on:
        key, steps = f"{KEY}.flash_s", requests.section.flash_s / FLASH_STEP_S
        if not (abs(steps - round(steps)) < 1e-6 and round(steps) in FLASH_STEPS):
            allowed = f"a whole number of tenths of a second, 0.1 to {FLASH_STEPS[-1] / 10:g}"
            yield Problem(key, f"{requests.section.flash_s:g}", allowed)
        elif (least := requests.least_flash_s()) > requests.section.flash_s:
            allowed = f"at least {least:.2f}, to refresh all valves in time at {requests.section.baud} baud"
            yield Problem(key, f"{requests.section.flash_s:g}", allowed, (f"{KEY}.baud",))


def _answers(
    key: str, requests: Sequence[protocol.ModbusRequest[Any]], line: tuple[int, Characters]
) -> Iterator[Problem]:
    """Check that each answer comes before it is no longer awaited."""
    timeout_ms = ANSWER_TIMEOUT_S * 1e3
    longest_ms = max((exchange_s(request, *line) * 1e3 for request in requests), default=0.0)
    if not longest_ms < timeout_ms:
        found = f"{line[0]}, with a longest exchange of {longest_ms:.1f} ms"
        yield Problem(key, found, f"an exchange of less than {timeout_ms:g} ms, and of 1000 ms at most")


def _within(key: str, value: int, least: int, most: int) -> Iterator[Problem]:
    if not least <= value <= most:
        yield Problem(key, f"{value}", f"{least} to {most}")
