"""The best that statics allow: how evenly the cylinders of a rig could share the loads."""

from __future__ import annotations

from collections.abc import Sequence

from hil.config.rig import Rig
from hil.config.steady_drive import best_state, steady_drive
from hil.experiments.normal_force.segments import Segment
from hil.experiments.normal_force.spread import FloatArray
from models.statics import spread_of, unevenness

# A part's loads are means of its second half, so the best is that in the middle of this: at this share of the part.
_MIDDLE = 0.75


def best_spreads(rig: Rig, parts: Sequence[Segment], torque_Nm: Sequence[FloatArray | None]) -> list[float | None]:
    """The least spread that the cylinders of the simulated rig allow in each part of a run, within their limits.

    It is that of the steady states of the rig with its own masses, soil, slope and drawbar, tractions and slip solved
    for with the loads. On a slope a rover that is pulled on one side drifts off its heading: by the turning speed of
    its steady states so far.

    Args:
        rig: simulated.
        parts: of the run.
        torque_Nm: (cylinders,) true, mean of each part; None: the run has none, and no best is known from there on.

    Returns:
        None where the rig has no steady state, and on rigid ground.
    """
    heading, found = rig.simulated.veer.heading, list[float | None]()
    try:
        for part, torque in zip(parts, torque_Nm, strict=True):
            if torque is None:
                break
            drive = steady_drive(rig, rig.simulated, heading)
            by_joint = dict(zip(rig.layout.joints, torque.tolist(), strict=True))
            turning = drive.at([by_joint.get(joint, 0.0) for joint in drive.joint_names]).turning
            way = turning * (part.end_s - part.begin_s)
            best = best_state(rig, steady_drive(rig, rig.simulated, heading + _MIDDLE * way), unevenness)
            found.append(float(spread_of(best.load)))
            heading += way
    except (ValueError, RuntimeError):  # no ground with traction laws; no steady state
        pass
    return found + [None] * (len(parts) - len(found))
