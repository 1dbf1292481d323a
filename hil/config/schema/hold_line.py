"""Holding a line: the part of an experiment's section that steers a rover back by the speeds of its wheels."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from hil.config.problems import Problem
from hil.config.schema.base import Section
from hil.config.schema.experiment_section import WholeConfig

# Instrument that knows where the rover is, and what of its readings says so.
NEEDED = "motion"
PLACES = ("pose", "position")
# The corner of the loop times its delay, at most [rad]: with it the phase margin is 48 degrees.
_LARGEST_DELAY = 0.35
# The corner is so many times speed over length_m, that of the integral so many times (hil.control.hold_line).
CORNER, INTEGRAL = 8.0, 2.0
# From a set-point to the turning of the rover, and the loop's own ticks [s]: servo of the drives, a tick each way.
DRIVES_S = 0.01


class HoldLineConfig(Section):
    """How a rover is held on a line by its wheel speeds, where the instrument `motion` says where it is."""

    length_m: float = Field(
        0.1, ge=0.02, le=10, description="way on which an offset falls to about a third; shorter: it steers harder"
    )
    share: float = Field(
        0.3, ge=0.01, le=0.9, description="largest difference of a side's rim speed from the mean, as a share of it"
    )
    align_m: float = Field(
        0.2,
        ge=0,
        le=5,
        description="nearer to the obstacle than this it turns to the line's direction, and leaves offsets",
    )
    free_m: float = Field(
        0.02, ge=0, le=1, description="nearer to the obstacle than this it does not steer, so that the hit is straight"
    )

    def problems(self, path: str, speed_mps: float, config: WholeConfig) -> Iterator[Problem]:
        """What speaks against holding a line with this rig.

        Args:
            path: of the section.
            speed_mps: fastest straight drive.
            config: the rest.
        """
        motion = config.motion
        if motion is None or motion.measures not in PLACES:
            found = "no motion" if motion is None else f"motion.measures {motion.measures}"
            allowed = f"null, or an instrument motion that measures {' or '.join(PLACES)}: else no place is known"
            yield Problem(path, found, allowed, ("motion",))
            return
        delay_s = delay_of_loop_s(motion.rate_hz, motion.delay_ms * 1e-3)
        least_m = least_length_m(speed_mps, delay_s)
        if self.length_m < least_m:
            allowed = f"at least {least_m:.3g} at {abs(speed_mps):g} m/s: readings are {1e3 * delay_s:.0f} ms late"
            yield Problem(f"{path}.length_m", f"{self.length_m:g}", allowed, ("motion.rate_hz", "motion.delay_ms"))


def least_length_m(speed_mps: float, delay_s: float) -> float:
    """The shortest length_m [m] with which the loop has its margins, at a speed [m/s] and with a delay [s]."""
    return CORNER * abs(speed_mps) * delay_s / _LARGEST_DELAY


def delay_of_loop_s(rate_hz: float, delay_s: float) -> float:
    """From a motion of the rover to the answer of its wheels [s]: a reading is half a period old on the average."""
    return 0.5 / rate_hz + delay_s + DRIVES_S
