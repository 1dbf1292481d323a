"""Carries commands and samples between the drivers of a worker and shared memory, and is the dead-man of the link."""

from __future__ import annotations

from typing import Any

import numpy as np

from drivers.base import Source
from drivers.types import VALVES_OFF, DaqBlock, DriveCommand, ValveCommand
from hil.devices import DriveLink, ValveLink
from hil.links.rows import DRIVE_COMMAND, DRIVE_SAMPLE, VALVE_COMMAND, VALVE_SAMPLE
from hil.links.shared import Shared
from hil.rows import Row
from hil.shm import NEVER_NS
from hil.values import STILL

# A loop silent for longer is gone or hung: row 12 of the fault table.
DEAD_MAN_NS = 20_000_000


class Pump:
    """One round: `give` what the devices say, `take` what the loop commands.

    Once the loop has been silent for DEAD_MAN_NS, the devices are stopped and no command is taken any more: a loop that
    comes back has to be armed again.

    Args:
        shared: memory of the run.
        daq: the piezo channels.
        drives: the wheel drives.
        valves: the bogie valves.

    Attributes:
        released: the dead-man has stopped the devices.
    """

    def __init__(self, shared: Shared, daq: Source[DaqBlock], drives: DriveLink, valves: ValveLink) -> None:
        self._shared, self._daq, self._drives, self._valves = shared, daq, drives, valves
        self._drive_command, self._valve_command = Row(DRIVE_COMMAND), Row(VALVE_COMMAND)
        self._drive_sample, self._valve_sample = Row(DRIVE_SAMPLE), Row(VALVE_SAMPLE)
        self._block: Any = np.zeros(1, shared.blocks.dtype)
        self._versions = [0, 0]
        self.released = False

    def take(self, t_ns: int, now_ns: int) -> None:
        """Hand new commands to the devices; stop them if the loop is silent.

        Args:
            t_ns: time of the run [ns].
            now_ns: CLOCK_MONOTONIC [ns].
        """
        age_ns = self._shared.heartbeat.age("loop", now_ns)
        if self.released or DEAD_MAN_NS < age_ns < NEVER_NS:
            if not self.released:
                self.stop(t_ns)
            return
        version = self._shared.drive_command.read(self._drive_command.array)
        if version > self._versions[0]:
            self._versions[0] = version
            sent_ns, cut, *speeds = self._drive_command.numbers()
            self._drives.write(DriveCommand(sent_ns, bool(cut), tuple(speeds)))
        version = self._shared.valve_command.read(self._valve_command.array)
        if version > self._versions[1]:
            self._versions[1] = version
            sent_ns, a, b, c, d = self._valve_command.numbers()
            self._valves.write(ValveCommand(sent_ns, ((bool(a), bool(b)), (bool(c), bool(d)))))

    def stop(self, t_ns: int) -> None:
        """Drives cut, valves off, and nothing taken any more."""
        self.released = True
        self._drives.write(DriveCommand(t_ns, True, STILL))
        self._valves.write(ValveCommand(t_ns, VALVES_OFF))

    def give(self, t_ns: int) -> None:
        """Hand on everything that the devices have said by t_ns [ns]."""
        while (block := self._daq.read(t_ns)) is not None:
            self._block["sequence"], self._block["overload"] = block.sequence, block.overload
            self._block["t_ns"], self._block["volts"] = block.t_ns, block.volts
            self._shared.blocks.append(self._block)  # a full ring shows as a gap in the sequence
        if (drive := self._drives.read(t_ns)) is not None:
            self._drive_sample.set(drive.sequence, drive.t_ns, *drive.speed_radps, drive.acknowledged_ns)
            self._shared.drives.write(self._drive_sample.array)
        if (valve := self._valves.read(t_ns)) is not None:
            left, right = valve.pressure_Pa
            self._valve_sample.set(valve.sequence, valve.t_ns, *left, *right, valve.acknowledged_ns)
            self._shared.valves.write(self._valve_sample.array)
