"""What the load controller takes from the steady state of the nominal rig, worked out before the run."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from hil.config.rig import Rig
from hil.config.steady_drive import best_state, steady_drive
from models.kernels.compiled import FloatArray
from models.statics import RoverStatics, traction_loss, unevenness


class SteadyLoads(NamedTuple):
    """Of a rover that drives steadily.

    Attributes:
        by_traction: (wheels, joints) what its tractions, as they follow the loads, add to the change of the loads with
            the torque of each suspension joint [1/m]; at the most even loads.
        traction_share: (wheels,) of the whole load, with the least slip, or the largest pull where the slip is given;
            empty on other ground than soil.
    """

    by_traction: FloatArray
    traction_share: tuple[float, ...]


def steady_loads(rig: Rig) -> SteadyLoads | None:
    """Steady state of a rig's nominal model; None: the rig stands, or its ground is rigid.

    Where the rover has no steady drive with all wheels on the ground, tractions count as constant, and max_traction
    means uniform.
    """
    rover, vehicle, _ = rig.nominal.held.assemble()
    statics, on_soil, wheels = RoverStatics(rover), vehicle.ground is not None, len(rover.wheel_names)
    if vehicle.rigid is not None or rig.steady_speed_mps == 0.0:
        return None
    for held in (False,) if rig.section.held_at_slip is None else (False, True):
        drive = steady_drive(rig, held=held)
        with suppress(RuntimeError):
            even = best_state(rig, drive, unevenness)
            moved = best_state(rig, drive, traction_loss) if on_soil and rig.section.asks_traction else even
            share = moved.load / moved.load.sum()
            return SteadyLoads(
                even.influence - statics.influence(rover.neutral()), tuple(share.tolist()) if on_soil else ()
            )
    return SteadyLoads(np.zeros((wheels, len(statics.joint_names))), (1.0 / wheels,) * wheels if on_soil else ())
