"""Whether each wheel turns that is commanded to: row 38 of the fault table."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.messages import DriveSample
from hil.messages.fault_bounds import LEAST_SET_RADPS, NOT_FOLLOWING_NS, STANDS_SHARE
from hil.messages.stages import Command


class SpeedMonitor:
    """Compares measured with commanded speeds, of wheels that are commanded by speed.

    A drive that has stopped by itself, as by its own time-out, is meant, not one that is slow: a share of the commanded
    speed, and a time that is longer than the lag of any loop of a drive.

    Args:
        wheels: names.
    """

    def __init__(self, wheels: Sequence[str]) -> None:
        self._wheels = wheels
        self._set: Sequence[float] = ()
        self._since_ns: list[int | None] = [None] * len(wheels)

    def record_command(self, command: Command) -> None:
        """Store the command of a tick; the next answer is compared with it."""
        self._set = () if command.cut or command.duty else command.speed_radps
        if not self._set:
            self._since_ns = [None] * len(self._wheels)

    def check(self, drives: DriveSample) -> tuple[float, float, str] | None:
        """Called with each new answer of the drives: value, limit and words of a wheel that does not turn, or None."""
        found = None
        for place, (asked, measured) in enumerate(zip(self._set, drives.speed_radps, strict=False)):
            least = STANDS_SHARE * abs(asked)
            turning = measured if asked > 0.0 else -measured
            if abs(asked) < LEAST_SET_RADPS or not turning < least:
                self._since_ns[place] = None
                continue
            since_ns = self._since_ns[place]
            if since_ns is None:
                self._since_ns[place] = drives.t_ns
            elif drives.t_ns - since_ns >= NOT_FOLLOWING_NS and found is None:
                seconds = (drives.t_ns - since_ns) * 1e-9
                detail = (
                    f"wheel {self._wheels[place]}: {measured:.3f} rad/s for {seconds:.2f} s, set: {asked:.3f} rad/s"
                )
                found = turning, least, detail
        return found
