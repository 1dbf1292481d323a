"""Pressure regulators on holding registers: set when the link is opened, or moved during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from drivers.host import Host
from drivers.interfaces import DeviceError
from drivers.modbus import protocol
from drivers.modbus.line import RtuLine
from drivers.modbus.valve_requests import ValveRequests

NAME = "Modbus regulators"
_LATE_NS = 2**62  # later than any command


class Regulators:
    """Set-points of regulators; nothing is sent but by `open`, `close_next` and the calls of `writes`.

    Args:
        requests: of the valves and regulators.
        line: of the moved regulators.
        host: whose clock is used.
    """

    def __init__(self, requests: ValveRequests, line: RtuLine, host: Host) -> None:
        self._requests, self._line, self._host = requests, line, host
        self._groups, self._closed = requests.regulator_groups(), requests.closed_counts()
        self._wanted = self._closed
        self._written: list[int | None] = [None] * len(self._closed)  # as confirmed; None: unknown, to be closed
        self._confirmed_ns = [-1] * len(self._closed)
        self._wanted_ns = self._addressed_ns = -1

    def open(self, valves: RtuLine) -> None:
        """Set the supply, start the watchdog, and close all that are moved; each register is read back.

        Args:
            valves: line of the board, which has the supply's register.

        Raises:
            DeviceError: no such device or register, or another value is read back.
        """
        requests = self._requests
        if requests.supply is not None:
            counts = requests.supply.counts(requests.supply_Pa)
            _set(valves, requests.supply.address, requests.supply.register, counts)
        self.release()
        self._written = [None] * len(self._closed)
        self._confirmed_ns = [-1] * len(self._closed)
        if (watchdog := requests.watchdog) is not None:
            for address in requests.regulator_addresses:
                _set(self._line, address, watchdog.holding_register, watchdog.counts)
        for which, regulator in enumerate(requests.regulators):
            _set(self._line, regulator.address, regulator.register, self._closed[which])
            self._written[which] = self._closed[which]
        self._addressed_ns = self._host.now_ns()

    @property
    def confirmed_ns(self) -> int:
        """t_ns of the newest command that all are known to have followed, -1 before; without any, later than all."""
        return min(self._confirmed_ns, default=_LATE_NS)

    def want(self, pressures_Pa: tuple[float, ...], t_ns: int) -> None:
        """Gauge pressures (regulators,) [Pa] of a command, for the next writing."""
        regulators = self._requests.regulators
        self._wanted = tuple(
            regulator.counts(wanted) for regulator, wanted in zip(regulators, pressures_Pa, strict=True)
        )
        self._wanted_ns = t_ns
        self._confirm(range(len(regulators)), t_ns)

    def release(self) -> None:
        """Close all at the next writing."""
        self._wanted, self._wanted_ns = self._closed, -1

    def closed_by_watchdog(self, now_ns: int) -> bool:
        """Returns whether the device has closed an open regulator by itself, after our silence."""
        watchdog = self._requests.watchdog
        is_open = any(written != closed for written, closed in zip(self._written, self._closed, strict=True))
        return watchdog is not None and is_open and now_ns - self._addressed_ns >= watchdog.timeout_ms * 1e6

    def close_next(self) -> bool:
        """Write one group, if all are to be closed and one is not known to be; whether anything was written.

        Raises:
            DeviceError: the device does not answer as it should.
        """
        if self._wanted != self._closed:
            return False
        for group in self._groups:
            if any(self._written[which] != self._closed[which] for which in group):
                self._write(group)
                return True
        return False

    def writes(self) -> list[Callable[[], None]]:
        """Calls that write all, one transaction each; they raise DeviceError."""
        return [partial(self._write, group) for group in self._groups]

    def _write(self, group: tuple[int, ...]) -> None:
        wanted, wanted_ns = self._wanted, self._wanted_ns
        for which in group:
            self._written[which] = None
        began_ns = self._host.now_ns()
        self._line.ask(self._requests.regulate(group, wanted))
        self._addressed_ns = began_ns
        for which in group:
            self._written[which] = wanted[which]
        self._confirm(group, wanted_ns)

    def _confirm(self, regulators: Iterable[int], t_ns: int) -> None:
        for which in regulators:
            if self._written[which] == self._wanted[which]:
                self._confirmed_ns[which] = max(t_ns, self._confirmed_ns[which])


def _set(line: RtuLine, address: int, register: int, counts: int) -> None:
    line.ask(protocol.write_register(address, register, counts))
    (reading,) = line.ask(protocol.read_registers(address, register, 1, protocol.Function.READ_HOLDING))
    if reading & 0xFFFF != counts:
        raise DeviceError(
            f"{line.name}, address {address}: holding register {register} reads {reading}, set: {counts}; "
            "check the register and its range"
        )
