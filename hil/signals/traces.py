"""Force of one impact over time: raw, corrected and filtered, of the sensors as they are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from hil.signals.vibration import (
    ShieldResonance,
    Tone,
    identify_rings,
    identify_tones,
    pulls,
    remove_ring,
    remove_rings,
    tone_at,
)

Floats = NDArray[np.float64]


class SensorChannels(NamedTuple):
    """The sensors and their calibration."""

    rate_hz: int  # samples a second and channel
    newton_per_volt: Floats  # (channels,), newtons on the plate
    droop_s: Floats  # (channels,) time constant of each AC coupling [s]
    sensitivity_u95: Floats  # (channels,) half-width of the 95 % interval of each sensitivity, relative
    droop_u95: Floats  # (channels,) the same of each time constant
    place: Floats  # (channels, 2) sensors on the plate, across and up [m]; NaN of a bumper's, and for up of links'
    each: bool  # every channel has its own shield (bumpers); else all stand behind one plate
    ring: ShieldResonance  # of the shield, as stated; what the samples show goes before it
    # half-width of the 95 % interval of what all channels alike are scaled with, relative: the lever of the hit on
    # links of the frame, which nothing measures.
    lever_u95: float = 0.0


def removed_by_coupling(readings: Floats, rate_hz: float, droop_s: Floats) -> Floats:
    """What a first-order AC coupling has taken from the force: the integral of the reading over its time constant.

    Added to the reading it gives the force (as hil.estimation.channels does sample by sample).

    Args:
        readings: (n, channels), without their offset, from a time on at which no force acted.
        rate_hz: samples a second.
        droop_s: (channels,) time constants [s].

    Returns:
        (n, channels), in the unit of the readings.
    """
    return np.cumsum(readings, axis=0) / (rate_hz * np.asarray(droop_s))


COVERAGE = 0.95
WIDTH = 1.959964  # of a normal distribution's 95 % interval, half of it, in standard deviations


def combined(*parts: float) -> float:
    """Standard uncertainties of independent causes together."""
    return math.sqrt(sum(part * part for part in parts))


def half_width(standard: float, left_in: float = 0.0) -> float:
    """Half-width of the 95 % interval about a value.

    `left_in` is an error that is known but was not taken out of the value.
    """
    shift = abs(left_in)
    if standard <= 0.0 or not math.isfinite(standard + shift):
        return WIDTH * standard + shift
    low, high = shift, shift + 2.0 * WIDTH * standard
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = float(ndtr((middle - shift) / standard) - ndtr((-middle - shift) / standard))
        low, high = (middle, high) if inside < COVERAGE else (low, middle)
    return float(np.mean([low, high]))


# The samples looked at: the quiet part before the impact, up to GUARD_S before the detector's, and the tail after it.
QUIET_S, GUARD_S, TAIL_S = 1.0, 0.1, 4.0
LEAST_QUIET_S = 0.15
# Means of samples that are analysed instead of each: so many a second at least, and so many in the width of the peak at
# half its height.
REDUCED_HZ, PEAK_ROWS = 3000, 20
# The contact is over when the force has stayed below this share of its peak for this time [s].
OVER_SHARE, OVER_S = 0.05, 0.02


class _Shield(NamedTuple):
    """What rang between plate and sensors, and whether the samples show it or only the config states it.

    None, where the tail contradicts the config: without the stated ring the force would pull on the plate.
    """

    rings: tuple[ShieldResonance, ...]
    shown: bool

    @property
    def share_u(self) -> float:
        """Standard uncertainty of the effect of removing it, relative."""
        return max((ring.share_u for ring in self.rings), default=0.0)


@dataclass(frozen=True)
class Traces:
    """Forces over time, at the rate of the analysis."""

    t_s: Floats  # (n,) times [s]
    raw: Floats  # (n, channels) readings without their offset, as forces [N]
    corrected: Floats  # (n, channels) with the droop of the AC coupling added back [N]
    filtered: Floats  # (n, channels) without vibration, too [N]
    tones: tuple[Tone, ...]  # steady vibration that was removed
    shields: tuple[_Shield, ...]  # what rang, and was removed: of the plate, or of each bumper
    drooped: Floats  # (n, channels) what the coupling had taken [N]
    quiet: int  # number of rows before the impact in which no force acted
    noise: Floats  # (channels,) standard deviation of the filtered force in the quiet part [N]
    sum_noise: float  # the same of the sum [N]

    @property
    def spacing_s(self) -> float:
        """Between two rows [s]."""
        return float(self.t_s[1] - self.t_s[0])


def span_ns(impact_ns: int) -> tuple[int, int]:
    """First time of a sample that is used of an impact, and the end of them [ns]."""
    return impact_ns - round((QUIET_S + GUARD_S) * 1e9), impact_ns + round(TAIL_S * 1e9)


def make_traces(t_ns: NDArray[np.int64], volts: Floats, impact_ns: int, channels: SensorChannels) -> Traces | None:
    """Correct and filter the samples of one impact.

    Args:
        t_ns: (n,) times of the samples [ns].
        volts: (n, channels) readings [V].
        impact_ns: first sample over the detector's threshold [ns].
        channels: of the sensors.

    Returns:
        None: too few samples before the impact to know the offsets from, or a sample that is not a number.
    """
    first, last = np.searchsorted(t_ns, span_ns(impact_ns))
    quiet = int(np.searchsorted(t_ns, impact_ns - round(GUARD_S * 1e9))) - int(first)
    if quiet < LEAST_QUIET_S * channels.rate_hz or not np.isfinite(volts[first:last]).all():
        return None
    count = _samples_a_row(volts[first:last] @ channels.newton_per_volt, quiet, channels.rate_hz)
    rows = (int(last) - int(first)) // count
    part = volts[first : int(first) + rows * count]
    reading = (part - part[:quiet].mean(axis=0)) * channels.newton_per_volt
    drooped = removed_by_coupling(reading, channels.rate_hz, channels.droop_s)

    def means(values: Floats) -> Floats:
        reduced: Floats = values.reshape(rows, count, -1).mean(axis=1)
        return reduced

    raw, drooped = means(reading), means(drooped)
    at = t_ns[first : int(first) + rows * count].reshape(rows, count)
    t_s: Floats = np.asarray(0.5e-9 * (at[:, 0] + at[:, -1]), np.float64)
    calm = quiet // count
    corrected = raw + drooped
    tones = tuple(identify_tones(t_s[:calm], corrected[:calm]))
    filtered = corrected - sum((tone_at(t_s, tone) for tone in tones), np.zeros_like(corrected))
    filtered, shields = _without_rings(t_s, filtered, calm, channels)
    return Traces(
        t_s, raw, corrected, filtered, tones, shields, drooped, calm,
        filtered[:calm].std(axis=0), float(filtered[:calm].sum(axis=1).std()),
    )  # fmt: skip


def width_at_half(force: Floats, at: int) -> int:
    """Rows about row `at` of a force (n,) in which it stays over half of what it is there."""
    under = np.flatnonzero(force <= 0.5 * force[at])
    place = int(np.searchsorted(under, at))
    first = int(under[place - 1]) if place else -1
    last = int(under[place]) if place < len(under) else len(force)
    return last - first - 1


def _samples_a_row(force: Floats, quiet: int, rate_hz: int) -> int:
    """How many samples one mean may take without flattening the peak of the force (n,) [N], offset included."""
    force = force - force[:quiet].mean()
    width = width_at_half(force, quiet + int(np.argmax(force[quiet:])))
    return max(min(rate_hz // REDUCED_HZ, width // PEAK_ROWS), 1)


def contact_end(t_s: Floats, force: Floats) -> float | None:
    """When a force was last at least OVER_SHARE of its peak so far, before OVER_S below it [s]; None: it stays over."""
    top = np.maximum.accumulate(force)
    over = np.flatnonzero((force >= OVER_SHARE * top.max()) & (np.arange(len(force)) >= np.argmax(force)))
    if not over.size:
        return None
    span = round(OVER_S / float(t_s[1] - t_s[0]))
    gaps = np.flatnonzero(np.diff(over) > span)
    last = int(over[gaps[0]] if gaps.size else over[-1])
    if last + span >= len(force):
        return None
    level = OVER_SHARE * float(force[: last + 1].max())
    before, after = float(force[last]), float(force[last + 1])
    share = (before - level) / (before - after) if before > after else 0.0
    return float(t_s[last] + min(max(share, 0.0), 1.0) * (t_s[last + 1] - t_s[last]))


def _without_rings(
    t_s: Floats, forces: Floats, calm: int, channels: SensorChannels
) -> tuple[Floats, tuple[_Shield, ...]]:
    """What rings removed: behind one plate from all channels alike, of bumpers from each its own."""
    behind = [[channel] for channel in range(forces.shape[1])] if channels.each else [list(range(forces.shape[1]))]
    filtered, shields, spacing = forces.copy(), list[_Shield](), float(t_s[1] - t_s[0])
    for columns in behind:
        load = forces[:, columns].sum(axis=1)
        noise, end_s = float(load[:calm].std()), contact_end(t_s, load)
        rings: tuple[ShieldResonance, ...] = (channels.ring,)
        shown = False
        if end_s is not None and load.max() > 20.0 * noise:
            identified = identify_rings(t_s, load, end_s, noise, channels.ring)
            refuted = not identified and pulls(t_s, remove_ring(load, spacing, channels.ring), end_s, noise)
            rings, shown = () if refuted else identified or rings, bool(identified)
        shields.append(_Shield(rings, shown))
        filtered[:, columns] = remove_rings(forces[:, columns], spacing, shields[-1].rings)
    return filtered, tuple(shields)
