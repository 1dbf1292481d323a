"""Watches the driven joints: angles that are numbers, within their ranges, and where they are commanded to be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.messages.fault import Fault
from hil.messages.fault_bounds import BAD_TICKS_ALLOWED
from hil.messages.stages import Command, Samples

if TYPE_CHECKING:
    from hil.config.rig import Rig

Latch = Callable[[Fault, float, float, str], None]


class ServoMonitor:
    """Compares each new sample of the servos with the ranges and with the command of the tick before.

    Args:
        rig: that is watched.

    Attributes:
        watched: joints are driven.
    """

    def __init__(self, rig: Rig) -> None:
        servos, self._joints = rig.config.servos, rig.config.driven_joints
        self.watched = servos is not None
        self._for_ns = round(1e9 * servos.follow_s) if servos else 0
        self._far_since_ns: list[int | None] = [None] * len(self._joints)
        self._command: Command | None = None
        self._read_ns, self._bad = 0, 0

    def record_command(self, command: Command) -> None:
        """Store the command of a tick."""
        self._command = command

    def check(self, samples: Samples, latch: Latch) -> None:
        """Look at the newest sample of a tick."""
        sample = samples.servos
        assert sample is not None  # where joints are driven
        if sample.t_ns == self._read_ns:
            return
        self._read_ns = sample.t_ns
        if not math.isfinite(sum(sample.angle_rad)):
            self._bad += 1
            if self._bad > BAD_TICKS_ALLOWED:
                detail = f"servos: angles that are not finite in {self._bad} answers in a row"
                latch(Fault.SAMPLE_NOT_FINITE, math.nan, BAD_TICKS_ALLOWED, detail)
            return
        self._bad = 0
        command = self._command
        if command is None or command.servos_cut:
            self._far_since_ns = [None] * len(self._joints)
            return
        for i, angle in enumerate(sample.angle_rad):
            self._look(i, angle, command.joint_angle_rad[i], sample.t_ns, latch)

    def _look(self, which: int, angle: float, commanded: float, t_ns: int, latch: Latch) -> None:
        """At one joint [rad, or m of one that slides]."""
        joint, since = self._joints[which], self._far_since_ns
        over = max(angle - joint.high_rad, joint.low_rad - angle)
        words, where = joint.words, f"servos.{'slides.' if joint.slides else ''}"
        if over > joint.outside_rad:
            limit = joint.high_rad if angle > joint.high_rad else joint.low_rad
            detail = f"{joint.name} is at {words(angle)}, allowed: {words(joint.low_rad)} to {words(joint.high_rad)}"
            latch(Fault.JOINT_OUT_OF_RANGE, angle, limit, f"{detail} and {where}outside_{joint.unit}")
        if abs(commanded - angle) <= joint.follow_rad:
            since[which] = None
            return
        if since[which] is None:
            since[which] = t_ns
        if t_ns - (since[which] or 0) >= self._for_ns:
            off = abs(commanded - angle)
            detail = (
                f"{joint.name} is at {words(angle)}, {words(off)} from its command for {self._for_ns * 1e-9:g} s, "
                f"allowed: {where}follow_{joint.unit}"
            )
            latch(Fault.JOINT_NOT_FOLLOWING, off, joint.follow_rad, detail)
