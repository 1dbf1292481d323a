"""Faults of simulated devices, in the words of who tests against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from typing_extensions import override

from drivers.sim.protocol.line import Kind, LineFault, SimulatedSerialDevice, Streaming

FaultKind = Literal["late", "damaged", "silent", "noise", "cut_short", "twice", "deaf", "unplugged", "wrong_value"]
# For ever, in answers.
ALWAYS = 2**62
# Of a line, and whether it is of the messages to the device.
_LINE: dict[str, tuple[Kind, bool]] = {
    "late": ("delayed", False),
    "damaged": ("garbage", False),
    "silent": ("intermittent", False),
    "noise": ("noise", False),
    "cut_short": ("truncated", False),
    "twice": ("duplicate", False),
    "deaf": ("intermittent", True),
}
KINDS = (*_LINE, "unplugged", "wrong_value")


def line_fault(kind: str, answers: int, until_ns: int, late_ms: float) -> LineFault:
    """The fault of a line, for each of KINDS but wrong_value; it ends at `until_ns`."""
    if kind == "unplugged":
        return LineFault("disconnect")
    named, requests = _LINE[kind]
    return LineFault(named, count=answers, ms=late_ms, requests=requests, until_ns=until_ns)


def check_fault(device: str, kind: str, kinds: Sequence[str], answers: int | None, seconds: float | None) -> None:
    """Raises ValueError: the device cannot have this fault, or not so."""
    if kind not in kinds:
        raise ValueError(f"{device}: fault {kind!r} found; allowed: {', '.join(kinds)}")
    if answers is not None and seconds is not None:
        raise ValueError(f"{device}: fault {kind}: answers and seconds are both given; give one of them, or none")
    if answers is not None and answers < 1:
        raise ValueError(f"{device}: fault {kind}: {answers} answers found; allowed: 1 and more")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{device}: fault {kind}: {seconds:g} seconds found; allowed: more than 0")


class ReportedValue(Protocol):
    """What a device reports, with an error that can be added."""

    reading_error: float


class _MisreadingDevice(SimulatedSerialDevice):
    """A `SimulatedSerialDevice` whose readings can be wrong, in frames that are right."""

    def __init__(self, device: SimulatedSerialDevice, measured: ReportedValue) -> None:
        self._device, self._measured = device, measured
        self._by, self._answers, self._until_ns = 0.0, 0, 0

    def misread(self, by: float, answers: int, until_ns: int) -> None:
        """Be wrong by so much, in so many answers, until a time [ns]."""
        self._by, self._answers, self._until_ns = by, answers, until_ns

    @override
    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        answer: bytes = self._wrong(ended_ns, lambda: self._device.receive(data, began_ns, ended_ns))
        if answer:
            self._answers -= 1
        return answer

    @override
    def wake(self, now_ns: int) -> int:
        return self._device.wake(now_ns)

    @override
    def press(self, pressed: bool) -> None:
        self._device.press(pressed)

    def _wrong(self, now_ns: int, act: Callable[[], Any]) -> Any:
        self._measured.reading_error = self._by if self._answers > 0 and now_ns < self._until_ns else 0.0
        try:
            return act()
        finally:
            self._measured.reading_error = 0.0


class _MisreadStream(_MisreadingDevice, Streaming):
    """The same of a device that also sends without being asked."""

    _device: Any

    @override
    def wake(self, now_ns: int) -> int:
        """A streaming device reads its instrument here."""
        due_ns: int = self._wrong(now_ns, lambda: self._device.wake(now_ns))
        return due_ns

    @override
    def unasked(self, now_ns: int) -> Sequence[tuple[int, bytes]]:
        messages: Sequence[tuple[int, bytes]] = self._device.unasked(now_ns)
        self._answers -= len(messages)
        return messages


def misread(device: SimulatedSerialDevice, measured: ReportedValue) -> _MisreadingDevice:
    """The device, with readings that can be wrong."""
    return (_MisreadStream if isinstance(device, Streaming) else _MisreadingDevice)(device, measured)
