"""What the load controller knows of the rig in a tick, every doubt about it, and the steady state it counts on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hil.config.rig import Rig, best_state, steady_drive
from hil.messages.stages import Estimate, Prediction, Samples
from models.kernels.compiled import FloatArray
from models.statics import RoverStatics, SteadyRover, traction_loss, unevenness
from models.wheel.soil import ALLOWED

# Doubts, a bit each above the limits of an allocation in `LoadSetPoints.binding`.
DOUBT_NAMES = ("pressure_unknown", "pressure_does_not_follow", "load_unknown", "load_disagrees", "no_solution")
_FIRST = 16
# A chamber comes nearer if it moves by this part of the limit while it counts.
_PROGRESS = 0.2
PRESSURE_UNKNOWN, DOES_NOT_FOLLOW, LOAD_UNKNOWN, DISAGREES, NO_SOLUTION = (
    1 << (_FIRST + bit) for bit in range(len(DOUBT_NAMES))
)


def doubt_names(binding: int) -> tuple[str, ...]:
    """Names of the doubts in `LoadSetPoints.binding`."""
    return tuple(name for bit, name in enumerate(DOUBT_NAMES) if binding >> (_FIRST + bit) & 1)


class SmoothedLoads:
    """Loads and torques behind the same first-order filter, so that the torques' part of the loads cancels.

    Args:
        share: of a new value, 0 to 1.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self.values: tuple[float, ...] = ()

    def add(self, values: Sequence[float]) -> None:
        """Take the values of a tick; the first ones as they are."""
        if not self.values:
            self.values = tuple(values)
            return
        share = self._share
        self.values = tuple([last + share * (new - last) for last, new in zip(self.values, values, strict=True)])

    def forget(self) -> None:
        """Begin anew with the next values."""
        self.values = ()


class DoubtSettings(NamedTuple):
    """From when on something counts as wrong."""

    follow_Pa: float  #: a chamber is this far from its wanted pressure
    disagreement_N: float  #: a leg sensor is this far from the rover twin
    ticks: int  #: for so many ticks in a row, plus one


class Doubts:
    """Looks for reasons not to push."""

    def __init__(self, settings: DoubtSettings, *, sensors: bool) -> None:
        self._settings, self._sensors = settings, sensors
        self._apart: list[int] = []
        self._seen_Pa: list[float] = []
        self._disagree = 0

    def forget(self) -> None:
        """Count anew."""
        self._apart, self._seen_Pa, self._disagree = [], [], 0

    def found(self, samples: Samples, estimate: Estimate, prediction: Prediction, wanted_Pa: Sequence[float]) -> int:
        """The doubts of this tick, a bit each."""
        measured_Pa = [pressure for pair in samples.valves.pressure_Pa for pressure in pair]
        if not math.isfinite(sum(measured_Pa)):
            return PRESSURE_UNKNOWN
        loads = estimate.wheel_load_N if self._sensors else prediction.normal_force_N
        if not loads or not math.isfinite(sum(loads)) or not prediction.finite:
            return LOAD_UNKNOWN
        return self._following(measured_Pa, wanted_Pa) | self._disagreeing(loads, prediction)

    def _following(self, measured_Pa: Sequence[float], wanted_Pa: Sequence[float]) -> int:
        """A chamber that is far away counts while it comes no nearer: a throttled line takes its time."""
        limit_Pa, worst = self._settings.follow_Pa, 0
        if not self._apart:
            self._apart, self._seen_Pa = [0] * len(measured_Pa), list(measured_Pa)
        for chamber, (measured, wanted) in enumerate(zip(measured_Pa, wanted_Pa, strict=True)):
            error = wanted - measured
            way = measured - self._seen_Pa[chamber]
            if abs(error) <= limit_Pa or (way if error > 0.0 else -way) > _PROGRESS * limit_Pa:
                self._apart[chamber], self._seen_Pa[chamber] = 0, measured
            else:
                self._apart[chamber] += 1
            worst = max(worst, self._apart[chamber])
        return DOES_NOT_FOLLOW if worst > self._settings.ticks else 0

    def _disagreeing(self, loads: Sequence[float], prediction: Prediction) -> int:
        if not self._sensors:
            return 0
        limit_N = self._settings.disagreement_N
        apart = any(abs(one - other) > limit_N for one, other in zip(loads, prediction.normal_force_N, strict=True))
        self._disagree = self._disagree + 1 if apart else 0
        return DISAGREES if self._disagree > self._settings.ticks else 0


# Step of the differences, of a log: shares are nearly linear over it.
_STEP = 0.2


class SteadyLoads(NamedTuple):
    """Of a rover that drives steadily."""

    #: (wheels, joints) what its tractions, as they follow the loads, add to the change of the loads with the torque of
    #: each suspension joint [1/m]; at the most even loads
    by_traction: FloatArray
    #: (wheels,) of the whole load, with the least slip, or the largest pull where the slip is given; empty on other
    #: ground than soil
    traction_share: tuple[float, ...]
    soil_log: FloatArray  #: (parameters,) logs of the soil's parameters that are estimated, where this was worked out
    #: (wheels, parameters) change of `traction_share` with each; no columns where none is estimated
    share_by_log: FloatArray

    def share_on(self, values: Sequence[float]) -> tuple[float, ...]:
        """`traction_share` on a soil with these values of the estimated parameters; none is below 0, their sum is 1."""
        moved = self.share_by_log @ (np.log(values) - self.soil_log)
        share = np.maximum(np.array(self.traction_share) + moved, 0.0)
        return tuple((share / share.sum()).tolist())


def steady_loads(rig: Rig) -> SteadyLoads | None:
    """Steady state of a rig's nominal model; None: the rig stands, or its ground is rigid.

    Where the rover has no steady drive with all wheels on the ground, tractions count as constant, and max_traction
    means uniform.
    """
    rover, vehicle, _ = rig.nominal.held.assemble()
    statics, on_soil, wheels = RoverStatics(rover), vehicle.ground is not None, len(rover.wheel_names)
    if not vehicle.yields or rig.steady_speed_mps == 0.0:
        return None
    names = rig.layout.soil_parameters
    log, nowhere = np.log([getattr(rig.config.soil, name) for name in names]), np.zeros((wheels, len(names)))
    for held in (False,) if rig.section.held_at_slip is None else (False, True):
        drive = steady_drive(rig, held=held)
        with suppress(RuntimeError):
            even = best_state(rig, drive, unevenness)
            by_log = nowhere
            if on_soil and rig.section.asks_traction:
                share = _traction_share(rig, drive)
                by_log = _share_by_log(rig, names, held=held) if names else nowhere
            else:
                share = even.load / even.load.sum()
            return SteadyLoads(
                even.influence - statics.influence(rover.neutral()),
                tuple(share.tolist()) if on_soil else (),
                log,
                by_log,
            )
    uniform = (1.0 / wheels,) * wheels if on_soil else ()
    return SteadyLoads(np.zeros((wheels, len(statics.joint_names))), uniform, log, nowhere)


def _traction_share(rig: Rig, drive: SteadyRover) -> FloatArray:
    load = best_state(rig, drive, traction_loss).load
    share: FloatArray = load / load.sum()
    return share


def _share_by_log(rig: Rig, names: Sequence[str], *, held: bool) -> FloatArray:
    """(wheels, parameters) central differences; zero where the rover has no steady drive on a soil so changed."""
    ground, by_log = rig.nominal.ground, np.zeros((len(rig.layout.wheels), len(names)))
    for column, name in enumerate(names):
        ends = []
        for sign in (-1.0, 1.0):
            value = min(getattr(ground.soil, name) * math.exp(sign * _STEP), ALLOWED[name].high)
            moved = replace(rig.nominal, ground=replace(ground, soil=replace(ground.soil, **{name: value})))
            with suppress(RuntimeError):
                ends.append((math.log(value), _traction_share(rig, steady_drive(rig, moved, held=held))))
        if len(ends) > 1:
            (low, less), (high, more) = ends
            by_log[:, column] = (more - less) / (high - low)
    return by_log
