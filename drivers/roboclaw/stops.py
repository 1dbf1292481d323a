"""Duty 0 for all RoboClaw controllers: as soon as their buses can carry it, and until each has confirmed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from drivers.interfaces import DeviceError, LinkLostError, StopFrames
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import CommandCode, Transaction
from drivers.roboclaw.unit import Unit
from drivers.serial.link import SerialLink


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
