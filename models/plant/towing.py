"""What holds a rover back: a winch or a person (Petersen 2012, 6.2.1), or the carriage of a single-wheel bed."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray
from models.vehicle.loads import Drawbar

# The pull is set anew so often [ns].
ROUND_NS = 1_000_000


@dataclass(frozen=True)
class Towing:
    """A winch that pays out its cable at the speed of the wanted slip, or at a set speed.

    It never pushes; the drive of a carriage, which holds the same speed, does.

    Gain and integral time are assumptions. The pull over slip is nearly flat at high slip, where only a controlled
    speed settles; a controlled force would stop the rover.

    Attributes:
        slip: wanted, of the driving wheels' mean.
        rate: fastest growth of the pull [N/s]; infinity: at once.
        largest: pull [N]; 0: nothing pulls, and only traction is measured.
        over: time over which pull and slip are averaged, before the drives are cut [s].
        gain: pull over the error of the speed [N s/m].
        integral_time: [s].
        cable: speed at which it pays out its cable, whatever the wheels do [m/s]; None: that of the wanted slip.
        pushes: it is the drive of a carriage.
    """

    slip: float = 0.0
    rate: float = math.inf
    largest: float = 0.0
    over: float = 1.0
    gain: float = 2e4
    integral_time: float = 0.2
    cable: float | None = None
    pushes: bool = False

    def __post_init__(self) -> None:
        above = Range(0.0, math.inf, "", open_low=True)
        refuse(
            "towing",
            [
                problem("slip", self.slip, Range(0.0, 1.0, "")),
                None if self.rate == math.inf else problem("rate", self.rate, above),
                problem("largest", self.largest, Range(0.0, math.inf, "N")),
                problem("over", self.over, above),
                problem("gain", self.gain, above),
                problem("integral_time", self.integral_time, above),
                None if self.cable is None else problem("cable", self.cable, above),
            ],
        )


class Traction(NamedTuple):
    """Means over the time `Towing.over`: pull [N], slip [-], forward speed [m/s], and sinkage of the wheels [m].

    The sinkage is NaN in records that are older than it.
    """

    pull: float
    slip: float
    speed: float
    sinkage: float = math.nan


def make_tow(towing: Towing | None, drawbar: Drawbar, pull: FloatArray) -> TowingWinch | None:
    """The winch of a rig, at the place of its drawbar; arguments as `TowingWinch`. None: nothing is towed."""
    return None if towing is None else TowingWinch(towing, drawbar.backwards(), pull)


class TowingWinch:
    """The winch at work.

    Args:
        towing: how it pulls.
        backwards: (6,) force and moment of a pull of 1 N, as `VehicleState.pull`.
        pull: (6,) `VehicleState.pull`, which it sets; what the drawbar has put there stays in it.
    """

    def __init__(self, towing: Towing, backwards: FloatArray, pull: FloatArray) -> None:
        self._towing, self._pull, self._drawbar = towing, pull, pull.copy()
        self._unit = backwards
        self._force = self._integral = 0.0
        self._newest: deque[tuple[float, float, float, float, float]] = deque()
        self._length = 0.0

    @property
    def traction(self) -> Traction | None:
        """Means of the newest values; None before anything was driven."""
        if not self._newest:
            return None
        dt, pull, speed, driven, sinkage = np.array(self._newest).T
        distance, rolled = float(dt @ speed), float(dt @ driven)
        slip = 1.0 - distance / rolled if rolled > 0.0 else math.nan
        sunk = float(dt @ sinkage) / self._length
        return Traction(float(dt @ pull) / self._length, slip, distance / self._length, sunk)

    def act(self, dt: float, speed: float, driven: float, sinkage: float = math.nan, *, cut: bool) -> None:
        """Set the pull for the next dt [s].

        Args:
            dt: [s].
            speed: of the rover, forward [m/s].
            driven: mean speed of the rims [m/s].
            sinkage: mean of the wheels [m].
            cut: all drives are cut: the winch lets go.
        """
        towing = self._towing
        if cut:
            self._force = self._integral = 0.0
        else:
            error = speed - ((1.0 - towing.slip) * driven if towing.cable is None else towing.cable)
            wished = towing.gain * error + self._integral
            highest = min(towing.largest, self._force + towing.rate * dt)
            lowest = max(-towing.largest, self._force - towing.rate * dt) if towing.pushes else 0.0
            self._force = min(max(wished, lowest), highest)
            if self._force == wished:  # or the integral would wind up
                self._integral += towing.gain * error * dt / towing.integral_time
        self._pull[:] = self._drawbar + self._force * self._unit
        if not cut:
            self._keep(dt, -float(self._pull[0]), speed, driven, sinkage)

    def _keep(self, dt: float, pull: float, speed: float, driven: float, sinkage: float) -> None:
        self._newest.append((dt, pull, speed, driven, sinkage))
        self._length += dt
        while self._length - self._newest[0][0] >= self._towing.over:
            self._length -= self._newest.popleft()[0]
