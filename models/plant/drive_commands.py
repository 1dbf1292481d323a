"""Commands to the wheel drives of a plant: speeds, duties, cuts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from models.actuators.drive import DriveState, Motor
from models.kernels.compiled import FloatArray


class DriveCommands:
    """Writes commands into the state of the drives; most repeat the last, and cost nothing.

    Args:
        state: of the drives.
        motor: of each of them, or None: they cannot be driven by duty.
        factors: (wheels,) on each command, errors of the drives; None: there are none.

    Attributes:
        cut: (wheels,) whether each drive is cut.
    """

    def __init__(self, state: DriveState, motor: Motor | None, factors: FloatArray | None) -> None:
        self._state, self._motor, self._factors = state, motor, factors
        self._speed_radps: tuple[float, ...] = ()
        self._duty: tuple[float, ...] = ()
        self.cut: tuple[bool, ...] = ()

    def set(self, speed_radps: Sequence[float], cut: Sequence[bool], duty: Sequence[float]) -> None:
        """Note the newest command of each drive: speed [rad/s], whether it is cut, and duty."""
        # the same tuple of speeds (0.0 and -0.0 would compare equal), equal switches
        if speed_radps is not self._speed_radps:
            self._speed_radps = tuple(speed_radps)
            self._state.set_speed[:] = speed_radps if self._factors is None else self._factors * speed_radps
        if duty or self._duty:
            cut = [off or share == 0.0 for off, share in zip(cut, duty or (math.nan,) * len(cut), strict=True)]
            self._set_duty(tuple(duty))
        cut = tuple(cut)
        if cut != self.cut:
            self.cut = cut
            self._state.cut[:] = cut

    def _set_duty(self, duty: tuple[float, ...]) -> None:
        if duty and self._motor is None:
            raise ValueError(f"plant: duty {duty}, allowed: none, because the drives have no motor parameters")
        self._duty = duty
        shares = np.array(duty) if duty else np.full(self._state.duty.size, math.nan)
        # an error of a drive makes no more of its supply than there is
        self._state.duty[:] = shares if self._factors is None else np.clip(self._factors * shares, -1.0, 1.0)
