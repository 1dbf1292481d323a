"""A programme of motions and gaits as set-points over time: speeds of the drives and angles of the joints.

Each part begins and ends at rest. Angles go from one value to the next by a polynomial of degree five, so their rates
and accelerations have no jumps; the speed of a motion rises and falls likewise.

What a timeline sets at a time: smooth between its samples, ready for a tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config.schema.walk import Contact, Phase, phase_contacts, phase_targets
from hil.control.motions.geometry import Floats, Geometry
from hil.control.motions.steering import headings, rolling, steered, twist_of_held

# Distance of the samples [s]; between two a run sets what lies on the straight line.
STEP_S = 0.01
# Durations that are chosen stay this much within the limit of a drive's acceleration.
MARGIN = 1.05
# Of a change by 1 in 1 s by that polynomial: largest rate, and largest acceleration.
PEAK_RATE, PEAK_ACCELERATION = 1.875, 10.0 / math.sqrt(3.0)


class PaceLimits(NamedTuple):
    """What a programme may ask of drives and servos, for the durations that it is left to choose."""

    joint_rate: float  #: of each driven joint [rad/s]
    joint_acceleration: float  #: of each driven joint [rad/s^2]
    wheel_acceleration: float  #: of a drive [rad/s^2]
    wheel_speed: float = math.inf  #: of a drive [rad/s]


class Timeline(NamedTuple):
    """Set-points over time, STEP_S apart."""

    speeds: Floats  #: (samples, wheels) of the drives [rad/s]
    angles: Floats  #: (samples, driven) of the joints [rad]
    twist: Floats  #: (samples, 3) of the body that goes with them: ahead and to port [m/s], yaw rate [rad/s]
    standing: Floats  #: (samples, wheels) 1 where a wheel holds, or is locked while the joints move
    #: (samples, wheels) speed at which a wheel has to slide over the ground [m/s]; 0 where it can roll or stand
    slip: Floats
    part: NDArray[np.int64]  #: (samples,) number of the part of the programme, from 0 on

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return STEP_S * (len(self.part) - 1)

    @property
    def path(self) -> Floats:
        """Place and heading (samples, 3) of the base that follow from the twist, from 0, 0, 0 on [m, m, rad]."""
        middle = 0.5 * (self.twist[1:] + self.twist[:-1])
        yaw = np.concatenate([[0.0], np.cumsum(middle[:, 2]) * STEP_S])
        between = 0.5 * (yaw[1:] + yaw[:-1])
        c, s = np.cos(between), np.sin(between)
        x = np.concatenate([[0.0], np.cumsum(c * middle[:, 0] - s * middle[:, 1]) * STEP_S])
        y = np.concatenate([[0.0], np.cumsum(s * middle[:, 0] + c * middle[:, 1]) * STEP_S])
        return np.stack([x, y, yaw], axis=1)

    def accelerations(self) -> tuple[Floats, Floats, Floats]:
        """Accelerations of the drives, rates and accelerations of the joints, between samples."""
        rates = np.diff(self.angles, axis=0) / STEP_S
        return np.diff(self.speeds, axis=0) / STEP_S, rates, np.diff(rates, axis=0) / STEP_S


class Programme:
    """Puts parts one after another; `angles` (driven,) [rad] are those at the end so far.

    Args:
        geometry: of the rover.
        limits: for durations that are not given.
        angles: (driven,) at the beginning [rad]; None: those of the description.
    """

    def __init__(self, geometry: Geometry, limits: PaceLimits, angles: Floats | None = None) -> None:
        self._geometry, self._limits = geometry, limits
        self.angles: Floats = np.array(geometry.rest if angles is None else angles, dtype=np.float64)
        wheels = len(geometry.wheels)
        none = np.zeros((1, wheels))
        self._blocks = [Timeline(none, self.angles[None].copy(), np.zeros((1, 3)), none, none, np.zeros(1, np.int64))]
        self._part = 0

    def end_part(self) -> None:
        """What follows is the next part."""
        self._part += 1

    def pose(self, angles: Floats, seconds: float | None = None, contacts: Sequence[Contact] | None = None) -> None:
        """Move the joints to angles (driven,) [rad].

        Args:
            angles: at the end.
            seconds: how long it takes; None: as fast as the limits allow.
            contacts: what each wheel does; None: all roll, and the body stays where it is.
        """
        change = np.asarray(angles, dtype=np.float64) - self.angles
        if seconds is not None:
            self._swing(change, seconds, contacts)
        elif np.any(change):
            seconds = self._fastest(float(np.abs(change).max()))
            # at one speed of the joints, legs that swing turn the drives faster than the joints alone
            speeds = self._swung(change, seconds, contacts).speeds
            ask = np.abs(np.diff(speeds, axis=0)).max(initial=0.0) / STEP_S
            longer = max(1.0, math.sqrt(MARGIN * ask / self._limits.wheel_acceleration))
            self._swing(change, seconds * max(longer, np.abs(speeds).max() / self._limits.wheel_speed), contacts)

    def _swing(self, change: Floats, seconds: float, contacts: Sequence[Contact] | None) -> None:
        block = self._swung(change, seconds, contacts)
        self._blocks.append(block)
        self.angles = block.angles[-1].copy()

    def _swung(self, change: Floats, seconds: float, contacts: Sequence[Contact] | None) -> Timeline:
        """The joints' angles change, and body and drives with them."""
        share, rate = _smooth(seconds)
        moved, rates = self.angles + share[:, None] * change, rate[:, None] * change
        frames = self._geometry.frames(moved, rates)
        contacts = contacts or ["roll"] * len(self._geometry.wheels)
        standing = np.tile([float(one != "roll") for one in contacts], (len(share), 1))
        locked = np.array([one == "lock" for one in contacts])
        twist, slip = np.zeros((len(share), 3)), np.zeros_like(standing)
        # a locked wheel rolls as its leg turns it
        carried = np.sum(frames.spin * frames.axle, axis=-1)
        own = np.where(locked, self._geometry.radius * carried, 0.0)
        if standing.any():
            twist, slip = twist_of_held(frames._replace(rate=frames.rate - own[..., None] * headings(frames)), standing)
        rolled = rolling(self._geometry, frames, twist)
        # what stands keeps to its own speed, whether or not the body's motion agrees with all of them
        speeds = np.where(standing > 0.0, np.where(locked, 0.0, -carried), rolled.drive)
        slip = np.where(standing > 0.0, slip, np.abs(rolled.lateral))
        return Timeline(speeds, moved, twist, standing, slip, np.full(len(share), self._part, dtype=np.int64))

    def cycle(self, phases: Sequence[Phase]) -> None:
        """One cycle of a gait."""
        for phase in phases:
            targets = phase_targets(phase, self._geometry.driven, self.angles.tolist())
            self.pose(np.array(targets), phase.seconds, phase_contacts(phase, self._geometry.wheels))

    def begin_gait(self, phases: Sequence[Phase]) -> None:
        """Move the joints to where the cycle begins: the angles of its last rows."""
        targets = self.angles.tolist()
        for phase in phases:
            targets = phase_targets(phase, self._geometry.driven, targets)
        self.pose(np.array(targets))

    def move(self, twist: tuple[float, float, float], seconds: float) -> None:
        """Steer, then move the body in the plane, from rest to rest, at this twist in between.

        Args:
            twist: ahead [m/s], to port [m/s], yaw rate [rad/s].
            seconds: of the motion, its steering not included.

        Raises:
            ValueError: no wheels roll so: `steered` says why; or a motion too short for its speed.
        """
        self.pose(steered(self._geometry, self.angles, twist))
        frames = self._geometry.frames(self.angles)
        full = rolling(self._geometry, frames, np.array([twist]))
        if not np.any(np.abs(full.along) > 0.0) and any(twist):
            raise ValueError("no wheel rolls in this motion")
        ramp = PEAK_RATE * float(np.abs(full.drive).max()) / self._limits.wheel_acceleration
        if 2.0 * ramp > seconds * (1.0 + 1e-9):
            raise ValueError(
                f"a motion of {seconds:.3g} s needs {2.0 * ramp:.3g} s to speed up and to stop within the acceleration "
                "allowed: a longer one, or a slower one"
            )
        rise, _ = _smooth(ramp)
        level = np.ones(max(round((seconds - ramp) / STEP_S) - len(rise), 0))
        share = np.concatenate([rise, level, 1.0 - rise])[:, None]
        wheels = len(self._geometry.wheels)
        angles = np.tile(self.angles, (len(share), 1))
        slip = share * np.abs(full.lateral)
        self._append(share * full.drive, angles, share * np.array(twist), np.zeros((len(share), wheels)), slip)

    def go(self, way_m: float, turn: float, speed: float, rate: float) -> None:
        """Go a way, straight or along an arc, or turn in place: as fast as these and the drives' limits allow.

        Args:
            way_m: along the path [m], forward; 0: a turn in place.
            turn: over the whole of it, to port [rad].
            speed: largest of the base [m/s].
            rate: largest yaw rate of a turn in place [rad/s].

        Raises:
            ValueError: no wheels roll so: `steered` says why.
        """
        unit = (1.0, 0.0, turn / way_m) if way_m else (0.0, 0.0, math.copysign(1.0, turn))
        amount, most = (way_m, speed) if way_m else (abs(turn), rate)
        angles = steered(self._geometry, self.angles, (most * unit[0], 0.0, most * unit[2]))
        drives = rolling(self._geometry, self._geometry.frames(angles), np.array([unit])).drive
        fastest = float(np.abs(drives).max())
        ramp = PEAK_RATE * MARGIN * fastest / self._limits.wheel_acceleration  # over the speed
        # it is never at its speed where the ramps up and down meet
        most = min(most, self._limits.wheel_speed / fastest, math.sqrt(amount / ramp))
        self.move((most * unit[0], 0.0, most * unit[2]), amount / most + ramp / MARGIN * most)

    def wait(self, seconds: float) -> None:
        """Stand still."""
        samples = round(seconds / STEP_S)
        none = np.zeros((samples, len(self._geometry.wheels)))
        self._append(none, np.tile(self.angles, (samples, 1)), np.zeros((samples, 3)), none + 1.0, none)

    def timeline(self) -> Timeline:
        """All parts so far."""
        return Timeline(*(np.concatenate(each) for each in zip(*self._blocks, strict=True)))

    def _append(self, speeds: Floats, angles: Floats, twist: Floats, standing: Floats, slip: Floats) -> None:
        part = np.full(len(speeds), self._part, dtype=np.int64)
        self._blocks.append(Timeline(speeds, angles, twist, standing, slip, part))

    def _fastest(self, change: float) -> float:
        """Shortest time of a change of an angle [rad] within the limits [s]."""
        limits = self._limits
        return max(
            PEAK_RATE * change / limits.joint_rate, math.sqrt(PEAK_ACCELERATION * change / limits.joint_acceleration)
        )


def _smooth(seconds: float) -> tuple[Floats, Floats]:
    """Share of a change that is done, and its rate [1/s], at samples after the begin to the end of these seconds."""
    count = max(math.ceil(seconds / STEP_S - 1e-9), 1)
    t = np.arange(1, count + 1) / count
    share: Floats = t**3 * (10.0 - 15.0 * t + 6.0 * t * t)
    rate: Floats = 30.0 * t * t * (1.0 - t) ** 2 / (count * STEP_S)
    return share, rate


_STEP_NS = round(STEP_S * 1e9)
Numbers = tuple[float, ...]


class Playback:
    """The set-points of a timeline in plain numbers."""

    def __init__(self, line: Timeline) -> None:
        self._speeds = [tuple(row) for row in line.speeds.tolist()]
        self._angles = [tuple(row) for row in line.angles.tolist()]
        # changes in a step: with them angles between two samples are smooth, as the limiter wants them
        changes = np.gradient(line.angles, axis=0) if len(line.angles) > 1 else np.zeros_like(line.angles)
        self._changes = [tuple(row) for row in changes.tolist()]
        self.length_ns = _STEP_NS * (len(self._speeds) - 1)

    def at(self, elapsed_ns: int) -> tuple[Numbers, Numbers]:
        """Speeds of the drives (wheels,) [rad/s] and angles of the joints (servos,) [rad], so long after the begin.

        After the end: those of the end.
        """
        before, left = divmod(min(elapsed_ns, self.length_ns), _STEP_NS)
        part, after = left / _STEP_NS, min(before + 1, len(self._speeds) - 1)
        speeds = _between(self._speeds[before], self._speeds[after], part)
        angles, changes = self._angles, self._changes
        return speeds, _smoothly(angles[before], angles[after], changes[before], changes[after], part)


def _between(one: Sequence[float], later: Sequence[float], part: float) -> Numbers:
    return tuple([a + (b - a) * part for a, b in zip(one, later, strict=True)])


def _smoothly(
    one: Sequence[float], later: Sequence[float], change: Sequence[float], later_change: Sequence[float], part: float
) -> Numbers:
    """Cubic between two samples, with their changes in a step as slopes (Hermite)."""
    rest = 1.0 - part
    a, b = rest * rest * (1.0 + 2.0 * part), part * part * (3.0 - 2.0 * part)
    c, d = rest * rest * part, -part * part * rest
    rows = zip(one, later, change, later_change, strict=True)
    return tuple([a * at + b * to + c * slope + d * last for at, to, slope, last in rows])
