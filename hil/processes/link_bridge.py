"""Transfers commands and samples between the drivers of a worker and shared memory, and is the dead-man of the link."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from typing_extensions import override

from drivers.interfaces import Source
from drivers.messages import DaqBlock, Reading
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import NO_FAULT, fault_message
from hil.ipc.shm import NEVER_NS
from hil.messages.fault import DEAD_MAN_NS, Fault
from hil.messages.layout import CONFIRMING, NEWEST, OUTPUTS, ROLES, SAMPLED
from hil.messages.link_messages import BlockRow, CommandRow, Row, SampleRow


class Feed(Protocol):
    """One kind of device: writes its samples to shared memory and reads its commands from there."""

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """Publish the samples received until t_ns.

        Args:
            t_ns: time of the run [ns].
            start_ns: its t = 0 on the clock of the samples' time stamps [ns]; None: the run has not begun, and samples
                are discarded.
        """

    def skip(self) -> None:
        """Skip the commands written so far."""

    def apply_commands(self, start_ns: int) -> None:
        """Send the newest command to the device, if it is new.

        Args:
            start_ns: t = 0 of the run on the clock of the commands' time stamps [ns].
        """

    def stop(self, t_ns: int) -> None:
        """Command the safe state, at a time of that clock [ns]."""

    def stopped(self, t_ns: int) -> bool:
        """Whether the device has confirmed the stop of that time, or a newer one."""


class _NoCommands:
    """What a feed of a link without commands does with them, and with a stop."""

    def skip(self) -> None:
        """There are no commands."""

    def apply_commands(self, start_ns: int) -> None:
        """There are no commands."""

    def stop(self, t_ns: int) -> None:
        """Nothing to stop."""

    def stopped(self, t_ns: int) -> bool:  # noqa: ARG002
        """Nothing moves."""
        return True


class _ReadingFeed(_NoCommands):
    """A device that only measures, for the mailbox of its link."""

    def __init__(self, shared: RunMemory, link: str, instrument: Source[Reading]) -> None:
        self._readings, self._instrument = shared.newest[link], instrument
        self._row, self._packed = Row(self._readings.dtype), SampleRow(link, shared.config.layout)

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """Publish the newest reading; one from before the start of the run is none of it."""
        if (reading := self._instrument.read(t_ns)) is None or start_ns is None or reading.t_ns < start_ns:
            return
        self._row.set(*self._packed.pack(reading, start_ns))
        self._readings.write(self._row.array)


class _BlockFeed(_NoCommands):
    """Blocks of samples, for the ring of their group."""

    def __init__(self, shared: RunMemory, group: str, daq: Source[DaqBlock]) -> None:
        self._ring, self._daq = shared.sampled[group], daq
        self._block: Any = np.zeros(1, self._ring.dtype)
        self._sequence = 0

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """Publish all blocks; those from before the start of the run are skipped and not counted."""
        row = self._block
        while (block := self._daq.read(t_ns)) is not None:
            if start_ns is None or block.t_ns[0] < start_ns:
                self._sequence = block.sequence
                continue
            BlockRow.pack(row, block, block.sequence - self._sequence, start_ns)
            self._ring.append(row)  # a full ring shows as a gap in the sequence


class _OutputFeed:
    """A device that takes commands, and sends nothing: which of them are new."""

    def __init__(self, shared: RunMemory, link: str, device: Any) -> None:
        role, self._layout = ROLES[link], shared.config.layout
        self._commands, self._unpacked = shared.device_commands[link], CommandRow(link, self._layout)
        self._device, self._safe, self._command = device, role.safe, Row(self._commands.dtype)
        self._version, self._stopped_ns = 0, -1

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """There are none."""

    def skip(self) -> None:
        """Skip the commands written so far."""
        self._version = max(self._commands.read(self._command.array), self._version)

    def apply_commands(self, start_ns: int) -> None:
        """Send the newest command, if it is new."""
        if (version := self._commands.read(self._command.array)) > self._version:
            self._version = version
            self._device.write(self._unpacked.unpack(self._command.numbers(), start_ns))

    def stop(self, t_ns: int) -> None:
        """Command the safe state."""
        self._device.write(self._safe(t_ns, self._layout))
        self._stopped_ns = t_ns

    def stopped(self, t_ns: int) -> bool:
        """Whether the safe state was written: an output confirms nothing."""
        return self._stopped_ns >= t_ns


class _ConfirmingFeed(_OutputFeed):
    """A device that takes commands and confirms them in its samples."""

    def __init__(self, shared: RunMemory, link: str, device: Any) -> None:
        super().__init__(shared, link, device)
        self._samples, self._packed = shared.newest[link], SampleRow(link, self._layout)
        self._sample, self._acknowledged_ns = Row(self._samples.dtype), -1

    @override
    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        if (sample := self._device.read(t_ns)) is None:
            return
        self._acknowledged_ns = sample.acknowledged_ns
        if start_ns is not None:
            self._sample.set(*self._packed.pack(sample, start_ns))
            self._samples.write(self._sample.array)

    @override
    def stopped(self, t_ns: int) -> bool:
        return self._acknowledged_ns >= t_ns


def feed_of(shared: RunMemory, link: str, device: Any) -> Feed:
    """The feed of a device, by the name of its link."""
    kinds = ((SAMPLED, _BlockFeed), (CONFIRMING, _ConfirmingFeed), (OUTPUTS, _OutputFeed), (NEWEST, _ReadingFeed))
    return next(kind for links, kind in kinds if link in links)(shared, link, device)


class LinkBridge:
    """Each round: `publish_samples` of the devices, then `apply_commands` of the loop.

    Once the loop has had no heartbeat for DEAD_MAN_NS, the devices are stopped and no more commands are accepted: a
    loop that recovers is told so at once (fault 43), and has to be armed again. Between two runs no commands are
    accepted either.

    Attributes:
        released: the dead-man, or a call of `stop`, has stopped the devices.
        start_ns: t_ns = 0 of the run on the clock of the time stamps of samples and commands [ns]; None before the run,
            and between two runs.
    """

    def __init__(self, shared: RunMemory, name: str, *feeds: Feed) -> None:
        self._heartbeat, self._name, self._feeds = shared.heartbeat, name, feeds
        self._acted = shared.fault_mailboxes[name][Fault.DEAD_MAN_ACTED]
        self._stop_ns = 0
        self.released = False
        self.start_ns: int | None = 0

    def begin(self, start_ns: int) -> None:
        """A run begins: commands are accepted again, but none that was written before."""
        if self.released:
            for feed in self._feeds:
                feed.skip()
        self.start_ns, self.released = start_ns, False

    def hold(self, t_ns: int) -> None:
        """The run is over: stop the devices, and keep them stopped until the next run begins."""
        self.start_ns = None
        self.stop(t_ns)
        if self._acted.version:  # a loop that recovered knows it by now
            self._acted.write(fault_message(NO_FAULT, ""))

    def apply_commands(self, t_ns: int, now_ns: int) -> None:
        """Send new commands to the devices; stop them if the loop has no heartbeat.

        Args:
            t_ns: time on the devices' clock [ns].
            now_ns: CLOCK_MONOTONIC [ns].
        """
        age_ns = self._heartbeat.age("loop", now_ns)
        if self.released or DEAD_MAN_NS < age_ns < NEVER_NS:
            if not self.released:
                self.stop(t_ns)
                self._report(age_ns)
            return
        for feed in self._feeds:
            feed.apply_commands(self.start_ns or 0)

    def _report(self, age_ns: int) -> None:
        """Report to a loop that recovers why this link takes no command any more."""
        silent_ms, allowed_ms = age_ns * 1e-6, DEAD_MAN_NS * 1e-6
        detail = f"{self._name}: stopped, for the loop ended no tick for {silent_ms:.1f} ms, allowed: {allowed_ms:g} ms"
        self._acted.write(fault_message(Fault.DEAD_MAN_ACTED, detail, silent_ms, allowed_ms))

    def stop(self, t_ns: int) -> None:
        """Cut drives and servos, switch the valves off, and accept no more commands."""
        self.released, self._stop_ns = True, t_ns
        for feed in self._feeds:
            feed.stop(t_ns)

    @property
    def stopped(self) -> bool:
        """The devices have confirmed the stop."""
        return self.released and all(feed.stopped(self._stop_ns) for feed in self._feeds)

    def stopping_ns(self, t_ns: int) -> int:
        """Time since the stop of the devices was commanded [ns]; 0 if it was not."""
        return t_ns - self._stop_ns if self.released else 0

    def publish_samples(self, t_ns: int) -> None:
        """Publish all samples received until t_ns [ns]."""
        for feed in self._feeds:
            feed.publish_samples(t_ns, self.start_ns)
