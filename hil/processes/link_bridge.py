"""Transfers commands and samples between the drivers of a worker and shared memory, and is the dead-man of the link."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from drivers.interfaces import DriveLink, ServoLink, Source, ValveLink
from drivers.messages import (
    DaqBlock,
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    Reading,
    ValveCommand,
    ValveSample,
)
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import NO_FAULT, fault_message
from hil.ipc.shm import NEVER_NS, Mailbox
from hil.messages.fault import Fault
from hil.messages.fault_bounds import DEAD_MAN_NS
from hil.messages.link_messages import BlockRow, DriveCommandRow, JointCommandRow, SampleRow, ValveCommandRow
from hil.messages.schema import Row


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


class _Uncommanded:
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


class ReadingFeed(_Uncommanded):
    """An instrument of motion, for the mailbox of its role."""

    def __init__(self, shared: RunMemory, instrument: Source[Reading], role: str) -> None:
        self._readings, self._instrument = shared.readings[role], instrument
        self._row, self._packed = Row(self._readings.dtype), SampleRow(Reading, shared.config.layout, role)

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """Publish the newest reading; one from before the start of the run is none of it."""
        if (reading := self._instrument.read(t_ns)) is None or start_ns is None or reading.t_ns < start_ns:
            return
        self._row.set(*self._packed.pack(reading, start_ns))
        self._readings.write(self._row.array)


class BlockFeed(_Uncommanded):
    """Blocks of samples, for the ring of their group."""

    def __init__(self, shared: RunMemory, daq: Source[DaqBlock], group: str = "daq") -> None:
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


class _CommandedFeed:
    """What the feeds of links with commands have in common: which commands are new, and whether a stop is confirmed."""

    _commands: Mailbox
    _samples: Mailbox

    def __init__(self) -> None:
        self._command, self._sample = Row(self._commands.dtype), Row(self._samples.dtype)
        self._version, self._acknowledged_ns = 0, -1

    def skip(self) -> None:
        """Skip the commands written so far."""
        self._version = max(self._commands.read(self._command.array), self._version)

    def stopped(self, t_ns: int) -> bool:
        """Whether the stop is confirmed."""
        return self._acknowledged_ns >= t_ns

    def _new_command(self) -> tuple[Any, ...]:
        """The numbers of a new command; empty: there is none."""
        if (version := self._commands.read(self._command.array)) <= self._version:
            return ()
        self._version = version
        return self._command.numbers()


class DriveFeed(_CommandedFeed):
    """Wheel drives."""

    def __init__(self, shared: RunMemory, drives: DriveLink) -> None:
        self._commands, self._samples = shared.drive_command, shared.drives
        super().__init__()
        self._drives = drives
        layout = shared.config.layout
        self._zero_speeds = layout.zero_speeds
        self._sample_row, self._command_row = SampleRow(DriveSample, layout), DriveCommandRow(layout)

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """Publish the newest speeds."""
        if (drive := self._drives.read(t_ns)) is None:
            return
        self._acknowledged_ns = drive.acknowledged_ns
        if start_ns is not None:
            self._sample.set(*self._sample_row.pack(drive, start_ns))
            self._samples.write(self._sample.array)

    def apply_commands(self, start_ns: int) -> None:
        """Send new speeds or a cut."""
        if command := self._new_command():
            self._drives.write(self._command_row.unpack(command, start_ns))

    def stop(self, t_ns: int) -> None:
        """Cut."""
        self._drives.write(DriveCommand(t_ns, True, self._zero_speeds))


class ValveFeed(_CommandedFeed):
    """Bogie valves and their regulators."""

    def __init__(self, shared: RunMemory, valves: ValveLink) -> None:
        self._commands, self._samples = shared.valve_command, shared.valves
        super().__init__()
        self._valves = valves
        layout = shared.config.layout
        self._off, self._closed = layout.valves_off, layout.regulators_closed
        self._sample_row, self._command_row = SampleRow(ValveSample, layout), ValveCommandRow(layout)

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """Publish the newest pressures."""
        if (valve := self._valves.read(t_ns)) is None:
            return
        self._acknowledged_ns = valve.acknowledged_ns
        if start_ns is not None:
            self._sample.set(*self._sample_row.pack(valve, start_ns))
            self._samples.write(self._sample.array)

    def apply_commands(self, start_ns: int) -> None:
        """Send which valves to power, and the regulators' pressures."""
        if command := self._new_command():
            self._valves.write(self._command_row.unpack(command, start_ns))

    def stop(self, t_ns: int) -> None:
        """Switch all valves off and close the regulators."""
        self._valves.write(ValveCommand(t_ns, self._off, self._closed))


class ServoFeed(_CommandedFeed):
    """Servos of driven joints."""

    def __init__(self, shared: RunMemory, servos: ServoLink) -> None:
        self._commands, self._samples = shared.servo_command, shared.servos
        super().__init__()
        self._servos = servos
        layout = shared.config.layout
        self._no_angles = (0.0,) * len(layout.servos)
        self._sample_row, self._command_row = SampleRow(JointSample, layout), JointCommandRow(layout)

    def publish_samples(self, t_ns: int, start_ns: int | None) -> None:
        """Publish the newest angles."""
        if (joint := self._servos.read(t_ns)) is None:
            return
        self._acknowledged_ns = joint.acknowledged_ns
        if start_ns is not None:
            self._sample.set(*self._sample_row.pack(joint, start_ns))
            self._samples.write(self._sample.array)

    def apply_commands(self, start_ns: int) -> None:
        """Send new angles or a cut."""
        if command := self._new_command():
            self._servos.write(self._command_row.unpack(command, start_ns))

    def stop(self, t_ns: int) -> None:
        """Cut."""
        self._servos.write(JointCommand(t_ns, True, self._no_angles))


class LinkBridge:
    """Each round: `publish_samples` of the devices, then `apply_commands` of the loop.

    Once the loop has had no heartbeat for DEAD_MAN_NS, the devices are stopped and no more commands are accepted: a
    loop that recovers is told so at once (fault 43), and has to be armed again. Between two runs no commands are
    accepted either.

    Args:
        shared: memory of the run.
        name: of this worker.
        feeds: of its devices.

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
