"""Where the ballast of a rover goes while it crosses a shape: its centre of mass follows the terrain under its wheels.

MacMahon 2016, 2.1 reports such a control, by terrain angles measured relative to the inclination of the body, which
tell the traction that a contact can develop; its formulas are in another paper. Here the potential traction of a wheel
is what the slope leaves of its friction, for each newton of its normal force: mu cos(alpha) - sin(alpha), at least 0,
with alpha between terrain and body. The wheels' shares of the weight are nearly linear in the ballast's place and in
the slope; the ballast goes where they come nearest to their shares of all potential tractions, in the sense of least
squares. So a wheel that climbs a face is relieved as far as the suspension lets the ballast do so, and on an even slope
all wheels bear alike.

A ballast takes its time. So alpha is the steepest angle on the way that a wheel drives while the ballast slides from
one end of its range to the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hil.config.rig import Rig
from hil.messages.stages import ByServo
from models.kernels.compiled import FloatArray
from models.rover.fittings import BALLAST
from models.rover.rover import Rover
from models.statics import stand
from models.vehicle.model import start_configuration

# Part of the servo's largest rate at which its set displacement moves: the limiter has nothing to clamp.
_OF_RATE = 0.9
_TRIED_M, _TRIED_RAD = 0.1, 0.02  # displacement and slope by which the change of the loads is found
_SPACING_M = 0.002  # between the places at which the terrain angle is known


class BallastControl:
    """Commands of the ballast's servo; the other driven joints hold where they start.

    Args:
        rig: whose rover has a driven ballast.
        rover: of it.
        line: (n, 2) corners of the profile that it crosses, x and z [m].
    """

    def __init__(self, rig: Rig, rover: Rover, line: NDArray[np.floating[Any]]) -> None:
        joints = rig.config.driven_joints
        self._friction = rig.config.ground.friction
        self._place = [joint.name for joint in joints].index(BALLAST)
        servo = joints[self._place]
        self._range = servo.low_rad, servo.high_rad
        self._step_m = _OF_RATE * servo.rate_radps / rig.rate_hz
        self._set = [joint.start_rad for joint in joints]
        ahead_m = rig.config.crossing.speed_mps * (servo.high_rad - servo.low_rad) / (_OF_RATE * servo.rate_radps)
        self._steepest = [steepest_angles(line, radius, ahead_m) for radius in rover.chain.wheel_radius.tolist()]

        level = _shares(rig, rover, 0.0, 0.0)
        moved, leaning = _shares(rig, rover, _TRIED_M, 0.0), _shares(rig, rover, 0.0, _TRIED_RAD)
        by_rise = (leaning - level) / math.tan(_TRIED_RAD)
        by_way = (moved - level) / _TRIED_M
        # displacement of the ballast for each wheel's share that is too large
        by_share = -by_way / (by_way @ by_way)
        self._each: list[tuple[float, float, float]] = list(
            zip(level.tolist(), by_rise.tolist(), by_share.tolist(), strict=True)
        )

    def command(self, pose: Sequence[float], axles_m: Sequence[float]) -> ByServo:
        """Set places of the driven joints [rad, m] in this tick.

        Args:
            pose: (7,) of the base, by the twin.
            axles_m: (wheels,) world x of each axle in it.
        """
        wanted, last = self.wanted_m(pose, axles_m), self._set[self._place]
        if wanted is not None:
            self._set[self._place] = last + min(max(wanted - last, -self._step_m), self._step_m)
        return tuple(self._set)

    def wanted_m(self, pose: Sequence[float], axles_m: Sequence[float]) -> float | None:
        """Displacement [m], within the servo's range, for arguments of `command`; None: no wheel has any traction."""
        _, _, _, x, y, z, w = pose
        rise = math.asin(min(max(2.0 * (x * z - w * y), -1.0), 1.0))
        potential = []
        for axle_m, (from_m, steepest) in zip(axles_m, self._steepest, strict=True):
            place = round((axle_m - from_m) / _SPACING_M)
            angle = steepest[min(max(place, 0), len(steepest) - 1)] - rise
            potential.append(max(self._friction * math.cos(angle) - math.sin(angle), 0.0))
        total = sum(potential)
        if total <= 0.0:
            return None
        slope = math.tan(rise)
        best = sum([
            by_share * (share + slope * by_rise - pull / total)
            for (share, by_rise, by_share), pull in zip(self._each, potential, strict=True)
        ])  # fmt: skip
        return min(max(best, self._range[0]), self._range[1])


def _shares(rig: Rig, rover: Rover, displacement_m: float, rise_rad: float) -> FloatArray:
    """Shares (wheels,) of the weight on an even slope, where each wheel's force is upright, with the ballast there."""
    q = start_configuration(rover, rig.nominal.servos)
    q[7 + rover.joint_names.index(BALLAST)] = displacement_m
    q[4], q[6] = -math.sin(0.5 * rise_rad), math.cos(0.5 * rise_rad)
    sine, cosine = math.sin(rise_rad), math.cos(rise_rad)
    standing = stand(rover, q, (-sine, 0.0, cosine), held=rig.layout.servos)
    load = np.linalg.lstsq((cosine * standing.normal + sine * standing.ahead).T, standing.load, rcond=None)[0]
    shares: FloatArray = load / load.sum()
    return shares


def steepest_angles(line: NDArray[np.floating[Any]], radius: float, ahead_m: float) -> tuple[float, list[float]]:
    """Where a wheel comes to a shape, world x of its axle [m], and the steepest angles of the terrain from there on.

    The angles [rad] are of places `_SPACING_M` apart, and above 0 where the terrain rises; before the first and behind
    the last place nothing changes. The wheel rolls along the line and touches it in one point at a time: the one that
    carries it highest.

    Args:
        line: (n, 2) corners of the profile, x and z [m].
        radius: of the wheel [m].
        ahead_m: how far ahead the steepest is looked for.
    """
    further, reach = round(ahead_m / _SPACING_M), math.ceil(radius / _SPACING_M)
    from_m = float(line[1, 0]) - (further + reach) * _SPACING_M
    x = np.arange(from_m, line[-2, 0] + radius + _SPACING_M, _SPACING_M)
    offset = np.arange(-reach, reach + 1) * _SPACING_M
    height = np.interp(x[:, None] + offset, line[:, 0], line[:, 1])
    touched = (height + np.sqrt(np.maximum(radius**2 - offset**2, 0.0))).argmax(axis=1)
    angle = np.arcsin(np.clip(offset[touched] / radius, -1.0, 1.0))
    return from_m, sliding_window_view(np.pad(angle, (0, further), mode="edge"), further + 1).max(axis=1).tolist()
