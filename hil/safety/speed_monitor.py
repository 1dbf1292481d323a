"""Whether each wheel turns that is commanded to: row 38 of the fault table."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.messages import DriveSample
from hil.messages.fault_bounds import LEAST_SET_RADPS, NOT_FOLLOWING_NS, STANDS_SHARE
from hil.messages.stages import Command


class SpeedMonitor:
    """Compares measured with commanded speeds, of wheels that are commanded by speed.

    A drive that has stopped by itself, as by its own time-out, and a wheel that is blocked are meant, not one that is
    slow or late. A drive's loop gathers the error until its torque exceeds what holds the wheel: gear friction, or the
    load. So a wheel that stands is judged only when the loop asks for all its torque and that does not turn the wheel.

    Args:
        wheels: names.
        full_torque_rad: error that the loop gathers until then [rad] (`DrivesConfig.full_torque_rad`).
    """

    def __init__(self, wheels: Sequence[str], full_torque_rad: float) -> None:
        self._wheels, self._full_rad = wheels, full_torque_rad
        self._set: Sequence[float] = ()
        self._since_ns: list[int | None] = [None] * len(wheels)
        self._gathered_rad, self._answered_ns = [0.0] * len(wheels), 0

    def record_command(self, command: Command) -> None:
        """Store the command of a tick; the next answer is compared with it."""
        asked = () if command.cut or command.duty else command.speed_radps
        if self._set and not asked:  # a drive's loop forgets what it has gathered, too
            self._since_ns = [None] * len(self._wheels)
            self._gathered_rad = [0.0] * len(self._wheels)
        self._set = asked

    def check(self, drives: DriveSample) -> tuple[float, float, str] | None:
        """Called with each new answer of the drives: value, limit and words of a wheel that does not turn, or None."""
        found, full_rad = None, self._full_rad
        passed_s, self._answered_ns = (drives.t_ns - self._answered_ns) * 1e-9, drives.t_ns
        for place, (asked, measured) in enumerate(zip(self._set, drives.speed_radps, strict=False)):
            error_rad = self._gathered_rad[place] + (asked - measured) * passed_s
            self._gathered_rad[place] = error_rad = min(full_rad, max(-full_rad, error_rad))  # also if NaN
            least = STANDS_SHARE * abs(asked)
            turning, behind_rad = (measured, error_rad) if asked > 0.0 else (-measured, -error_rad)
            if abs(asked) < LEAST_SET_RADPS or not turning < least:
                self._since_ns[place] = None
                continue
            since_ns = self._since_ns[place]
            if since_ns is None:
                self._since_ns[place] = drives.t_ns
            elif drives.t_ns - since_ns >= NOT_FOLLOWING_NS and behind_rad >= full_rad and found is None:
                seconds = (drives.t_ns - since_ns) * 1e-9
                detail = (
                    f"wheel {self._wheels[place]}: {measured:.3f} rad/s for {seconds:.2f} s, set: {asked:.3f} rad/s"
                )
                found = turning, least, detail
        return found
