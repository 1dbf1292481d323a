"""Vibration in force signals: found in the spectrum of quiet parts, removed without shifting a peak.

Two kinds. A steady tone (mains, structure) is there before the impact: amplitude and phase are fitted to the quiet part
and the tone is subtracted. The shield's ring is begun by the impact itself: part of the load acts through a shield on a
spring, which is found in the tail, where a plate cannot pull, and its transfer function is inverted. Neither is a
band-stop: the force's own content near these frequencies stays, so the peak keeps its height and its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

Floats = NDArray[np.float64]

# A line of the spectrum is a tone if its power is this much above the median of the spectrum; noise alone goes over it
# once in a million spectra.
TONE_POWER = 40.0
MOST_TONES = 6
LOWEST_HZ = 5.0
# A ring that is looked for: range of frequency, damping ratio and share of the load.
RING_TAIL_S, MOST_RINGS = 0.6, 2
# A tail rings if the force pulls by this many standard deviations of the noise; it was found if the fit leaves no more
# than this share of the pull.
PULL, LEFT_OVER = 8.0, 0.6
RING_RANGE = ((4.0, 0.002, 0.002), (120.0, 0.7, 0.9))


class Tone(NamedTuple):
    """A steady vibration: frequency [Hz], and cosine and sine part of each channel (2, channels) at t = 0."""

    hz: float
    parts: Floats


class ShieldResonance(NamedTuple):
    """A shield on a spring: frequency [Hz], damping ratio, the part of the load that acts through it.

    Attributes:
        share_u: standard uncertainty of the effect of removing it, relative.
    """

    hz: float
    damping: float
    share: float
    share_u: float = 0.5


def identify_tones(t_s: Floats, signals: Floats) -> list[Tone]:
    """Steady tones in a quiet part, strongest first.

    Times (n,) are equally spaced; no force acts on the signals (n, channels).
    """
    rest, tones = signals - signals.mean(axis=0), list[Tone]()
    window = np.hanning(len(t_s))[:, None]
    spacing = float(t_s[1] - t_s[0])
    frequencies = np.fft.rfftfreq(len(t_s), spacing)
    allowed = frequencies >= LOWEST_HZ
    for _ in range(MOST_TONES):
        power = (np.abs(np.fft.rfft(rest * window, axis=0)) ** 2).sum(axis=1)
        floor = float(np.median(power[allowed]))
        at = int(np.argmax(np.where(allowed, power, 0.0)))
        if power[at] <= TONE_POWER * floor or at + 1 >= len(power):
            break
        hz = _refined(t_s, rest, frequencies[at], 1.0 / (len(t_s) * spacing))
        tone = Tone(hz, _fitted(t_s, rest, hz))
        tones.append(tone)
        rest = rest - tone_at(t_s, tone)
    return tones


def tone_at(t_s: Floats, tone: Tone) -> Floats:
    """A tone at times [s]: (n, channels)."""
    return np.column_stack(_pair(t_s, tone.hz)) @ tone.parts


def identify_rings(
    t_s: Floats, load: Floats, end_s: float, noise: float, stated: ShieldResonance
) -> tuple[ShieldResonance, ...]:
    """What rings in the tail of an impact: where the force without it would pull on the plate, it is wrong.

    Args:
        t_s: (n,) equally spaced times [s]; at the first all is at rest.
        load: (n,) force behind the shield [N].
        end_s: end of the contact [s].
        noise: standard deviation of the load's noise [N].
        stated: what the rig's config says; where the search begins.

    Returns:
        The rings in the order in which they were found; none where the tail shows none.
    """
    spacing, peak = float(t_s[1] - t_s[0]), float(load.max())
    tail = _tail(t_s, end_s)
    if tail.sum() < 0.1 / spacing:
        return ()

    def pulled(values: Floats) -> Floats:
        rest = remove_rings(load, spacing, [ShieldResonance(*each) for each in values.reshape(-1, 3).tolist()])
        return np.minimum(rest[tail], 0.0) / peak

    rings: tuple[ShieldResonance, ...] = ()
    start = np.zeros(0)
    while len(rings) < MOST_RINGS:
        rest = remove_rings(load, spacing, rings)[tail]
        if not rest.min() < -PULL * noise:
            break
        begin = [(_strongest(rest, spacing, stated.hz), 0.02)]
        if not rings:
            begin += [(hz, stated.share) for hz in (stated.hz, begin[0][0])]
        count = len(rings) + 1
        limits = (np.tile(RING_RANGE[0], count), np.tile(RING_RANGE[1], count))
        scale = np.tile((1.0, 0.01, 0.01), count)
        tries = [
            least_squares(pulled, np.concatenate([start, first]), bounds=limits, x_scale=scale, max_nfev=25)
            for first in (np.clip([hz, stated.damping, share], *RING_RANGE) for hz, share in begin)
        ]
        fit = min(tries, key=lambda one: float(one.cost))
        left, before = (float(np.sqrt(np.mean(part**2))) for part in (fit.fun, np.minimum(rest, 0.0) / peak))
        if left > LEFT_OVER * before:
            break
        start = fit.x
        jacobian = np.asarray(fit.jac, np.float64)
        covariance = np.linalg.pinv(jacobian.T @ jacobian) * left**2
        shares_u = np.sqrt(np.maximum(np.diag(covariance)[2::3], 0.0)) / start[2::3]
        rings = tuple(
            ShieldResonance._make([*(_rounded(value, 6) for value in each), _rounded(u, 2)])
            for each, u in zip(start.reshape(-1, 3).tolist(), shares_u.tolist(), strict=True)
        )
    return rings


def pulls(t_s: Floats, force: Floats, end_s: float, noise: float) -> bool:
    """Whether a force (n,) [N] pulls on the plate after the contact, which ended at `end_s`; not by noise alone."""
    return bool((force[_tail(t_s, end_s)] < -PULL * noise).any())


def remove_rings(load: Floats, spacing_s: float, rings: Sequence[ShieldResonance]) -> Floats:
    """The force before it went through all of these shields and structures (`remove_ring`)."""
    for ring in rings:
        load = remove_ring(load, spacing_s, ring)
    return load


def remove_ring(load: Floats, spacing_s: float, ring: ShieldResonance) -> Floats:
    """The force on a shield, from the load behind it: (1 - share) of the force, and share of the ringing shield's.

    The inverse of (1 - share) + share w^2 / (s^2 + 2 z w s + w^2), by the bilinear transform. The load is (n,) or (n,
    channels), the shield at rest at the first sample.
    """
    from scipy.signal import lfilter  # brings scipy.stats: a third of a second that no start has need of

    w = 2.0 * np.pi * ring.hz
    k = w / np.tan(0.5 * w * spacing_s)  # exact at the ring's own frequency
    rest = 1.0 - ring.share

    def digital(square: float, first: float) -> Floats:
        a, b, c = square * k * k, first * k, w * w
        return np.array([a + b + c, 2.0 * (c - a), a - b + c])

    up, down = digital(1.0, 2.0 * ring.damping * w), digital(rest, 2.0 * rest * ring.damping * w)
    corrected: Floats = lfilter(up / down[0], down / down[0], load, axis=0)
    return corrected


def _pair(t_s: Floats, hz: float) -> tuple[Floats, Floats]:
    phase = 2.0 * np.pi * hz * t_s
    return np.cos(phase), np.sin(phase)


def _fitted(t_s: Floats, signals: Floats, hz: float) -> Floats:
    basis = np.column_stack([*_pair(t_s, hz), np.ones_like(t_s)])
    return np.asarray(np.linalg.lstsq(basis, signals, rcond=None)[0][:2], np.float64)


def _refined(t_s: Floats, signals: Floats, hz: float, bin_hz: float) -> float:
    """The frequency at which a tone takes the most from the signals, between two lines of the spectrum."""
    for _ in range(4):  # Gauss-Newton on the phase, which grows with time
        cosine, sine = _pair(t_s, hz)
        basis = np.column_stack([cosine, sine, np.ones_like(t_s)])
        inverse = np.linalg.pinv(basis)
        parts = inverse @ signals
        along = np.outer(-sine, parts[0]) + np.outer(cosine, parts[1])
        slope = np.asarray(2.0 * np.pi * t_s[:, None] * along, np.float64)
        slope = np.asarray(slope - basis @ (inverse @ slope), np.float64)
        power = float((slope * slope).sum())
        step = float((slope * (signals - basis @ parts)).sum()) / power if power > 0.0 else 0.0
        hz += float(np.clip(step, -bin_hz, bin_hz))
    return hz


def _tail(t_s: Floats, end_s: float) -> NDArray[np.bool_]:
    return (t_s > end_s) & (t_s < end_s + RING_TAIL_S)


def _rounded(value: float, digits: int) -> float:
    """To so many digits: an iterated fit ends on another processor a little elsewhere."""
    return float(f"{value:.{digits}g}")


def _strongest(tail: Floats, spacing_s: float, stated_hz: float) -> float:
    """Frequency of the tail's strongest line from LOWEST_HZ to 120 Hz [Hz]."""
    size = 4 * len(tail)
    power = np.abs(np.fft.rfft((tail - tail.mean()) * np.hanning(len(tail)), size))
    frequencies = np.fft.rfftfreq(size, spacing_s)
    inside = (frequencies > 2.0 * LOWEST_HZ) & (frequencies < RING_RANGE[1][0])
    return float(frequencies[inside][np.argmax(power[inside])]) if inside.any() else stated_hz
