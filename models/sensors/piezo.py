"""ICP piezo sensors at the data acquisition: behind an obstacle's shield, in its frame, or one per front wheel."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, finite_array, problem, refuse
from models.kernels.compiled import FloatArray, kernel
from models.sensors.disturbance import SensorDisturbances, disturbed, hummed, through_structure
from models.sensors.rear_frame import REAR, LinkShare, link_force

TRIANGLE = 3  # channels; a bumper pair has 2, and so have the links of the frame


class Piezo(NamedTuple):
    """The sensors and their channels (MacMahon 2016, 6.2.2, 6.2.5; PCB 208C02 class).

    Three channels are a triangle behind one shield; two are a bumper pair, each sensor behind the shield of a front
    wheel, left and right, or stand in two links of the obstacle's frame (App. C.2).

    Attributes:
        place: (channels, 2) positions on the plate [m]: across (to port), up; origin where a smooth wheel hits. Of
            links only across counts, of a bumper pair neither.
        sensitivity: (channels,) [V/N]; 0 of a dead sensor.
        bias: (channels,) [V] offset of each channel.
        noise: (channels,) standard deviation of each sample [V].
        range: [V] full scale, either sign.
        step: [V] one count of the converter.
        droop_time: (channels,) time constant of each channel's AC coupling [s].
        ring_frequency: of each shield [Hz].
        ring_damping: ratio of critical.
        ring_share: part of the load that rides on the ringing shield.
        rear_reach: lever of the rear links about the plate's foot [m] (models.sensors.rear_frame); 0: the sensors are
            not in links of the frame.
        link: which links, by what of the wheel's force they bear.
    """

    place: FloatArray
    sensitivity: FloatArray
    bias: FloatArray
    noise: FloatArray
    range: float
    step: float
    droop_time: FloatArray
    ring_frequency: float
    ring_damping: float
    ring_share: float
    rear_reach: float = 0.0
    link: LinkShare = REAR


def check_piezo(piezo: Piezo) -> None:
    """Raises ValueError with what is out of range, or where the three sensors of a triangle are in a line."""
    channels = _channels(len(piezo.sensitivity))
    any_number, not_negative = Range(-math.inf, math.inf, ""), Range(0.0, math.inf, "")
    positive = Range(0.0, math.inf, "", open_low=True)
    shapes = {"place": (channels, 2), **dict.fromkeys(("sensitivity", "bias", "noise", "droop_time"), (channels,))}
    ranges = {"sensitivity": not_negative, "bias": any_number, "noise": not_negative, "droop_time": positive}
    if channels == TRIANGLE:
        ranges["place"] = any_number
    for name, allowed in ranges.items():
        shape = finite_array("piezo", name, getattr(piezo, name), allowed).shape
        refuse("piezo", [None if shape == shapes[name] else f"{name} has shape {shape}, allowed: {shapes[name]}"])
    refuse(
        "piezo",
        [
            *(problem(name, getattr(piezo, name), positive) for name in ("range", "step")),
            problem("ring_frequency", piezo.ring_frequency, positive),
            problem("ring_damping", piezo.ring_damping, not_negative),
            problem("ring_share", piezo.ring_share, Range(0.0, 1.0, "")),
            problem("rear_reach", piezo.rear_reach, not_negative),
            *(
                problem(f"link.{name}", share, any_number)
                for name, share in zip(LinkShare._fields, piezo.link, strict=True)
            ),
            _in_line(piezo.place) if channels == TRIANGLE else _unplaced(piezo),
        ],
    )


def _unplaced(piezo: Piezo) -> str | None:
    left, right = piezo.place[:, 0]
    ok = piezo.rear_reach == 0.0 or (math.isfinite(left) and math.isfinite(right) and left != right)
    return None if ok else f"place is {piezo.place.tolist()}, allowed: rear links with a distance across between them"


def _in_line(place: FloatArray) -> str | None:
    a, b = place[1] - place[0], place[2] - place[0]
    flat = a[0] * b[1] == a[1] * b[0]
    return f"place is {place.tolist()}, allowed: three sensors that are not in a line" if flat else None


class PiezoState(NamedTuple):
    """Filter states.

    Attributes:
        shield: (shields, 2) deflection and rate of each, as a force [N, N/s].
        drooped: (channels,) voltage that the coupling has removed from each so far [V].
    """

    shield: FloatArray
    drooped: FloatArray


def make_piezo_state(channels: int = TRIANGLE) -> PiezoState:
    """Allocate the filters at rest, of a triangle or of a pair. Raises ValueError."""
    _channels(channels)
    return PiezoState(np.zeros((1 if channels == TRIANGLE else 2, 2)), np.zeros(channels))


def _channels(count: int) -> int:
    if count not in (2, TRIANGLE):
        raise ValueError(f"channels: found {count}, allowed: {TRIANGLE} (a triangle) or 2 (a bumper pair)")
    return count


def shares_of(place: FloatArray, across: float, up: float) -> FloatArray:
    """Part of the load on each sensor (3,) for a point on the plate, by the triangle's barycentric coordinates.

    Outside the triangle a share is negative: the plate would lift off that sensor.

    Raises:
        ValueError: a place that is not finite, or sensors in a line.

    Example:
        >>> triangle = np.array([[0.0, 0.05], [0.05, -0.05], [-0.05, -0.05]])
        >>> shares_of(triangle, across=0.0, up=0.0).round(2).tolist()
        [0.5, 0.25, 0.25]
    """
    anywhere = Range(-math.inf, math.inf, "m")
    place = finite_array("piezo", "place", place, anywhere)
    refuse("piezo", [problem("across", across, anywhere), problem("up", up, anywhere), _in_line(place)])
    return np.array(_shares(place, across, up))


@kernel
def has_one_plate(piezo: Piezo, channels: int) -> bool:
    """Whether all channels bear the load of one plate: those of a triangle and of rear links; a bumper has its own."""
    return channels == TRIANGLE or piezo.rear_reach > 0.0


@kernel
def _shares(place: FloatArray, across: float, up: float) -> tuple[float, float, float]:
    ax, ay = place[1, 0] - place[0, 0], place[1, 1] - place[0, 1]
    bx, by = place[2, 0] - place[0, 0], place[2, 1] - place[0, 1]
    px, py = across - place[0, 0], up - place[0, 1]
    area = ax * by - ay * bx
    second, third = (px * by - py * bx) / area, (ax * py - ay * px) / area
    return 1.0 - second - third, second, third


@kernel
def bearing_shares(place: FloatArray, across: float, up: float) -> tuple[float, float, float]:
    """Part of the load that each sensor of a triangle bears, a lifted one none, for a point on the plate."""
    first, second, third = _shares(place, across, up)
    first, second, third = max(first, 0.0), max(second, 0.0), max(third, 0.0)
    whole = first + second + third
    return first / whole, second / whole, third / whole


@kernel
def sample(
    piezo: Piezo,
    state: PiezoState,
    force: float,
    across: float,
    up: float,
    dt: float,
    noise: FloatArray,
    out: FloatArray,
    disturbance: SensorDisturbances | None = None,
) -> None:
    """One sample of all channels of a triangle.

    A plate cannot pull: outside the triangle the lifted sensor reads zero and the others bear its part. The shield
    rings as a second-order system on top of the load, and the AC coupling removes components slower than `droop_time`,
    which makes the reading negative once the load is removed.

    Args:
        piezo: the channels.
        state: advanced by dt.
        force: normal force on the plate [N].
        across: where it acts [m], from the triangle's origin.
        up: where it acts [m].
        dt: time since the last sample [s].
        noise: (3,) standard normal numbers.
        out: (3,) reading [V], overwritten.
        disturbance: of this sample, or None.
    """
    load = _rung(piezo, state.shield[0], through_structure(disturbance, 0, force, dt), dt)
    shares = bearing_shares(piezo.place, across, up)
    for i in range(TRIANGLE):
        volts = piezo.sensitivity[i] * load * shares[i]
        out[i] = _reading(piezo, state, disturbance, i, volts, dt, noise[i])


@kernel
def sample_pair(
    piezo: Piezo,
    state: PiezoState,
    left: float,
    right: float,
    dt: float,
    noise: FloatArray,
    out: FloatArray,
    disturbance: SensorDisturbances | None = None,
) -> None:
    """One sample of both channels of a bumper pair; each bears the force of one wheel.

    Args:
        piezo: the channels.
        state: advanced by dt.
        left: normal force on the front left wheel [N].
        right: on the front right wheel [N].
        dt: time since the last sample [s].
        noise: (2,) standard normal numbers.
        out: (2,) reading [V], overwritten.
        disturbance: of this sample, or None.
    """
    left = _rung(piezo, state.shield[0], through_structure(disturbance, 0, left, dt), dt)
    right = _rung(piezo, state.shield[1], through_structure(disturbance, 1, right, dt), dt)
    out[0] = _reading(piezo, state, disturbance, 0, piezo.sensitivity[0] * left, dt, noise[0])
    out[1] = _reading(piezo, state, disturbance, 1, piezo.sensitivity[1] * right, dt, noise[1])


@kernel
def sample_links(
    piezo: Piezo,
    state: PiezoState,
    force: float,
    across: float,
    lever: float,
    dt: float,
    noise: FloatArray,
    out: FloatArray,
    disturbance: SensorDisturbances | None = None,
    drag: float = 0.0,
) -> None:
    """One sample of the sensors in both links: the frame's statics, each side by its distance from the load.

    Args:
        piezo: the channels.
        state: advanced by dt.
        force: normal force on the plate [N].
        across: where it acts [m], as `piezo.place`.
        lever: where it acts, along the plate from its foot [m].
        dt: time since the last sample [s].
        noise: (2,) standard normal numbers.
        out: (2,) reading [V], overwritten.
        disturbance: of this sample, or None.
        drag: friction on the plate, up along it [N].
    """
    load = _rung(piezo, state.shield[0], through_structure(disturbance, 0, force, dt), dt)
    load = link_force(piezo.link, load, lever / piezo.rear_reach, drag)
    left = left_share(piezo.place, across)
    out[0] = _reading(piezo, state, disturbance, 0, piezo.sensitivity[0] * load * left, dt, noise[0])
    out[1] = _reading(piezo, state, disturbance, 1, piezo.sensitivity[1] * load * (1.0 - left), dt, noise[1])


@kernel
def left_share(place: FloatArray, across: float) -> float:
    """Part of the load on the first of two supports, for a load across the plate between them."""
    return (across - place[1, 0]) / (place[0, 0] - place[1, 0])


@kernel
def _rung(piezo: Piezo, shield: FloatArray, force: float, dt: float) -> float:
    """Force behind a ringing shield [N]."""
    omega = 2.0 * np.pi * piezo.ring_frequency
    pull_back = omega * omega * (force - shield[0]) - 2.0 * piezo.ring_damping * omega * shield[1]
    shield[1] += dt * pull_back
    shield[0] += dt * shield[1]
    return force + piezo.ring_share * (shield[0] - force)


@kernel
def _reading(
    piezo: Piezo,
    state: PiezoState,
    disturbance: SensorDisturbances | None,
    channel: int,
    volts: float,
    dt: float,
    noise: float,
) -> float:
    """The converter's reading of a sensor's output [V]."""
    volts = disturbed(disturbance, channel, volts, piezo.sensitivity[channel])
    state.drooped[channel] += (volts - state.drooped[channel]) * dt / piezo.droop_time[channel]
    volts += piezo.bias[channel] + piezo.noise[channel] * noise - state.drooped[channel]
    volts = hummed(disturbance, channel, volts)
    volts = min(max(volts, -piezo.range), piezo.range)
    return piezo.step * np.floor(volts / piezo.step + 0.5)
