"""A rover that veers: how the simulated rig stands and drives askew, which its twin does not know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray

_TURN = Range(-0.5, 0.5, "rad")


@dataclass(frozen=True)
class Veer:
    """Errors of the start and of the drive.

    Attributes:
        heading: of the rover at the start [rad], positive to port; turned about the base frame's origin.
        across: how far to port it starts [m].
        steering: of each wheel [rad], positive to port; empty: straight ahead.
        track_error: by this share the port wheels turn faster, and the starboard wheels slower, than commanded.
    """

    heading: float = 0.0
    across: float = 0.0
    steering: tuple[float, ...] = ()
    track_error: float = 0.0

    def __post_init__(self) -> None:
        refuse(
            "veer",
            [
                problem("heading", self.heading, _TURN),
                problem("across", self.across, Range(-1.0, 1.0, "m")),
                *(problem(f"steering[{i}]", angle, _TURN) for i, angle in enumerate(self.steering)),
                problem("track_error", self.track_error, Range(-0.5, 0.5, "")),
            ],
        )

    def locks(self, kinds: Sequence[str], wheels: Sequence[str]) -> Mapping[str, float]:
        """The joints that a rig locks, by kind at zero, and each steering joint at its angle [rad].

        Raises:
            ValueError: steering angles of a rover that has no steering, or not one for each wheel.
        """
        locks = dict.fromkeys(kinds, 0.0)
        if not any(self.steering):
            return locks
        if "steering" not in kinds or len(self.steering) != len(wheels):
            allowed = f"one for each of {len(wheels)} wheels" if "steering" in kinds else "none: it has no steering"
            raise ValueError(f"veer: {len(self.steering)} steering angles, allowed: {allowed}")
        return locks | {f"{wheel}_steering": angle for wheel, angle in zip(wheels, self.steering, strict=True)}

    def speed_factors(self, wheels: Sequence[str]) -> FloatArray | None:
        """Factor on each wheel's set speed (wheels,); None: there is no error."""
        if self.track_error == 0.0:
            return None
        return np.array([1.0 + self.track_error * (1.0 if wheel.endswith("_left") else -1.0) for wheel in wheels])

    def turn(self, q: FloatArray, angle: float) -> None:
        """Turn a free-flyer q about the vertical through its origin by an angle [rad], in place."""
        x, y, z, w = q[3:7]
        c, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
        q[3:7] = c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z
