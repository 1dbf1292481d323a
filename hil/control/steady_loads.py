"""What the load controller takes from the steady state of the nominal rig, worked out before the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hil.config.rig import Rig
from hil.config.steady_drive import best_state, steady_drive
from models.kernels.compiled import FloatArray
from models.statics import RoverStatics, SteadyRover, traction_loss, unevenness
from models.wheel.soil import ALLOWED

# Step of the differences, of a log: shares are nearly linear over it.
_STEP = 0.2


class SteadyLoads(NamedTuple):
    """Of a rover that drives steadily.

    Attributes:
        by_traction: (wheels, joints) what its tractions, as they follow the loads, add to the change of the loads with
            the torque of each suspension joint [1/m]; at the most even loads.
        traction_share: (wheels,) of the whole load, with the least slip, or the largest pull where the slip is given;
            empty on other ground than soil.
        soil_log: (parameters,) logs of the soil's parameters that are estimated, where this was worked out.
        share_by_log: (wheels, parameters) change of `traction_share` with each; no columns where none is estimated.
    """

    by_traction: FloatArray
    traction_share: tuple[float, ...]
    soil_log: FloatArray
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
