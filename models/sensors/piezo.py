"""Three ICP piezo sensors in a triangle behind the obstacle's shield, as the data acquisition sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.compiled import FloatArray, kernel

CHANNELS = 3


class Piezo(NamedTuple):
    """The sensing triangle and its channels (MacMahon 2016, 6.2.2, 6.2.5; PCB 208C02 class).

    Attributes:
        place: (3, 2) sensor positions on the plate [m]: across (to port), up; origin where a smooth wheel hits.
        sensitivity: (3,) [V/N].
        bias: (3,) [V] offset of each channel.
        noise: (3,) standard deviation of each sample [V].
        range: [V] full scale, either sign.
        step: [V] one count of the converter.
        droop_time: time constant of the AC coupling [s].
        ring_frequency: of the shield [Hz].
        ring_damping: ratio of critical.
        ring_share: part of the load that rides on the ringing shield.
    """

    place: FloatArray
    sensitivity: FloatArray
    bias: FloatArray
    noise: FloatArray
    range: float
    step: float
    droop_time: float
    ring_frequency: float
    ring_damping: float
    ring_share: float


class PiezoState(NamedTuple):
    """Filter states: shield deflection and rate as a force (2,) [N, N/s], and each channel's drooped part (3,) [V]."""

    shield: FloatArray
    drooped: FloatArray


def make_piezo_state() -> PiezoState:
    """Allocate the filters at rest."""
    return PiezoState(np.zeros(2), np.zeros(CHANNELS))


def shares_of(place: FloatArray, across: float, up: float) -> FloatArray:
    """Part of the load that each sensor bears (3,) for a point on the plate, by the triangle's barycentric coordinates.

    Outside the triangle a share is negative: the plate would lift off that sensor.
    """
    out = np.zeros(CHANNELS)
    _shares(place, across, up, out)
    return out


@kernel
def _shares(place: FloatArray, across: float, up: float, out: FloatArray) -> None:
    ax, ay = place[1, 0] - place[0, 0], place[1, 1] - place[0, 1]
    bx, by = place[2, 0] - place[0, 0], place[2, 1] - place[0, 1]
    px, py = across - place[0, 0], up - place[0, 1]
    area = ax * by - ay * bx
    out[1] = (px * by - py * bx) / area
    out[2] = (ax * py - ay * px) / area
    out[0] = 1.0 - out[1] - out[2]


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
) -> None:
    """One sample of all channels.

    A plate cannot pull: outside the triangle the lifted sensor reads nothing and the others take its part. The shield
    rings as a second-order system on top of the load, and the AC coupling takes out what is older than `droop_time`,
    which drives the reading below zero once the load is gone.

    Args:
        piezo: the channels.
        state: advanced by dt.
        force: normal force on the plate [N].
        across: where it acts [m], from the triangle's origin.
        up: where it acts [m].
        dt: time since the last sample [s].
        noise: (3,) standard normal numbers.
        out: (3,) reading [V], overwritten.
    """
    omega = 2.0 * np.pi * piezo.ring_frequency
    pull_back = omega * omega * (force - state.shield[0]) - 2.0 * piezo.ring_damping * omega * state.shield[1]
    state.shield[1] += dt * pull_back
    state.shield[0] += dt * state.shield[1]
    load = force + piezo.ring_share * (state.shield[0] - force)
    _shares(piezo.place, across, up, out)
    whole = max(out[0], 0.0) + max(out[1], 0.0) + max(out[2], 0.0)
    for i in range(CHANNELS):
        volts = piezo.sensitivity[i] * load * max(out[i], 0.0) / whole
        state.drooped[i] += (volts - state.drooped[i]) * dt / piezo.droop_time
        volts += piezo.bias[i] + piezo.noise[i] * noise[i] - state.drooped[i]
        volts = min(max(volts, -piezo.range), piezo.range)
        out[i] = piezo.step * np.floor(volts / piezo.step + 0.5)
