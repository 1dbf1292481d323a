"""One impact: onset, peak, impulse, duration, rise time, hits and load point; and its peak by noisy strain gauges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.signals.traces import (
    GUARD_S,
    LEAST_QUIET_S,
    QUIET_S,
    TAIL_S,
    WIDTH,
    SensorChannels,
    Traces,
    combined,
    contact_end,
    make_traces,
    width_at_half,
)

Floats = NDArray[np.float64]

# The rise from which the onset is extrapolated, as shares of the peak.
ONSET_FROM, ONSET_TO = 0.02, 0.2
# A peak is the vertex of a parabola through so much of the trace to each side of it [s]; of a short contact through
# this share of the peak's width at half its height, for a parabola is no more of a half sine than its top.
PEAK_S, TOP_SHARE = 0.002, 0.15
# A hit of a grouser stands out from the valleys next to it by this share of the peak.
HIT_SHARE = 0.05
# The load point is known where the force is over this share of its peak.
POINT_SHARE = 0.1


class UncertainValue(NamedTuple):
    """A value and its standard uncertainty."""

    value: float
    standard: float


@dataclass(frozen=True)
class MeasuredImpact:
    """One impact, by its filtered force."""

    traces: Traces  # forces over time
    onset_s: UncertainValue | None  # when the force began, extrapolated from its rise [s]
    peak_s: float  # when the sum of the sensors was largest [s]
    peak_N: UncertainValue  # of the sum of the sensors
    sum_of_peaks_N: UncertainValue  # of the sensors' own peaks
    impulse_Ns: UncertainValue | None  # of the sum, from the onset to the end; None: the contact did not end
    end_s: float | None  # when the force was last 5 % of its peak [s]; None: it did not end
    duration_s: UncertainValue | None  # from onset to end
    rise_s: UncertainValue | None  # from 10 to 90 % of the peak [s]
    hits: int  # peaks of the sum while the contact lasts
    point_t_s: Floats  # (m,) times of the load points [s]
    points_m: Floats  # (m, 2) load points, across and up from the sensors' centroid [m]; none of bumpers
    points_u_m: Floats  # (m, 2) their standard uncertainties [m]


def measure_impact(
    t_ns: NDArray[np.int64], volts: Floats, impact_ns: int, channels: SensorChannels
) -> MeasuredImpact | None:
    """Measure one impact.

    Args:
        t_ns: (n,) times of the samples [ns].
        volts: (n, channels) readings [V].
        impact_ns: first sample over the detector's threshold [ns].
        channels: of the sensors.

    Returns:
        None: too few samples before the impact, or no force in them.
    """
    from scipy.signal import find_peaks  # brings scipy.stats: a third of a second that no start has need of

    traces = make_traces(t_ns, volts, impact_ns, channels)
    if traces is None:
        return None
    t_s, total = traces.t_s, traces.filtered.sum(axis=1)
    end_s = contact_end(t_s, total)
    inside = slice(traces.quiet, len(t_s) if end_s is None else int(np.searchsorted(t_s, end_s)))
    if inside.stop - inside.start < 5 or total[inside].max() <= 10.0 * traces.sum_noise:
        return None
    at = inside.start + int(np.argmax(total[inside]))
    peak = _vertex(traces, total, at, traces.sum_noise)
    ring_u = _ring_u(traces, traces.filtered[at] - traces.corrected[at])
    peak_u = combined(peak.standard, _calibration(traces.filtered[at], traces.drooped[at], channels), ring_u)
    tops = [inside.start + int(place) for place in np.argmax(traces.filtered[inside], axis=0)]
    each = [
        _vertex(traces, traces.filtered[:, channel], top, float(traces.noise[channel]))
        for channel, top in enumerate(tops)
    ]
    forces, drooped = (
        np.array([values[top, channel] for channel, top in enumerate(tops)])
        for values in (traces.filtered, traces.drooped)
    )
    sum_u = combined(*(one.standard for one in each), _calibration(forces, drooped, channels), ring_u)
    onset = _onset(traces, total, at, peak.value)
    duration = _duration(traces, channels, total, onset, end_s)
    points = _load_points(traces, channels, inside, peak.value)
    return MeasuredImpact(
        traces,
        onset,
        float(t_s[at]),
        UncertainValue(peak.value, peak_u),
        UncertainValue(sum(one.value for one in each), sum_u),
        _impulse(traces, channels, onset, duration),
        end_s,
        duration,
        _rise(traces, total, at, peak.value),
        len(find_peaks(total[inside], prominence=max(HIT_SHARE * peak.value, 8.0 * traces.sum_noise))[0]),
        *points,
    )


def _vertex(traces: Traces, force: Floats, at: int, noise: float) -> UncertainValue:
    top_s = min(PEAK_S, TOP_SHARE * width_at_half(force, at) * traces.spacing_s)
    return vertex(force, at, max(round(top_s / traces.spacing_s), 2), noise)


def vertex(force: Floats, at: int, half: int, noise: float) -> UncertainValue:
    """The peak of a force (n,) near a row, without the bias of the largest of many noisy samples.

    Args:
        force: over time [N].
        at: row near which it is largest.
        half: rows to each side that a parabola is laid through.
        noise: standard deviation of each row [N].
    """
    first, last = max(at - half, 0), min(at + half + 1, len(force))
    rows = np.arange(first, last) - at
    if len(rows) < 4:
        return UncertainValue(float(force[at]), noise)
    a, b, c = np.polyfit(rows, force[first:last], 2)
    place = float(np.clip(-b / (2.0 * a), -half, half)) if a < 0.0 else 0.0
    left = force[first:last] - np.polyval((a, b, c), rows)
    spread = max(noise, float(np.sqrt(np.mean(left**2))))
    value = min(float(a * place * place + b * place + c), float(force[first:last].max()))  # a step is no parabola
    return UncertainValue(value, 1.5 * spread / np.sqrt(len(rows)))


def _calibration(forces: Floats, drooped: Floats, channels: SensorChannels) -> float:
    """Of a sum of forces, one a channel, by sensitivities and time constants of each, and the lever of all [N]."""
    sensitivity = forces * channels.sensitivity_u95 / WIDTH
    droop = drooped * channels.droop_u95 / WIDTH
    lever = float(forces.sum()) * channels.lever_u95 / WIDTH
    return float(np.sqrt((sensitivity**2 + droop**2).sum() + lever**2))


def _ring_u(traces: Traces, change: Floats) -> float:
    """Of what the removal of vibration has changed in each channel (channels,), in the unit of the change."""
    if len(traces.shields) == 1:
        return abs(float(change.sum())) * traces.shields[0].share_u
    return combined(*(float(one) * shield.share_u for one, shield in zip(change, traces.shields, strict=True)))


def _onset(traces: Traces, total: Floats, at: int, peak: float) -> UncertainValue | None:
    """Time over force along the first rise, a parabola, at zero force; between samples, so no sample rounds it."""
    # the first rise: a shield that snaps back may push harder than the impact before it
    over = np.flatnonzero(total[: at + 1] > ONSET_TO * peak)
    last = int(over[0]) + 1 if over.size else at + 1
    below = np.flatnonzero(total[:last] < ONSET_FROM * peak)
    first = int(below[-1]) + 1 if below.size else 0
    if last - first < 3:
        first, last = max(first - 1, 0), min(first + 3, at + 2)
    force, t_s = total[first:last], traces.t_s[first:last]
    order = 0 if len(force) < 6 else 1 if len(force) < 8 else 2
    low, low_u = _at_zero(force, t_s - t_s[0], order, traces.sum_noise)
    high, high_u = _at_zero(force, t_s - t_s[0], order + 1, traces.sum_noise)
    # the form of the rise is not known: anywhere between what two orders say, all places alike
    form = (low - high) / math.sqrt(12.0)
    # half of both: of two nested fits to the same points the covariance is the variance of the lower order
    spread = math.sqrt(0.75 * low_u**2 + 0.25 * high_u**2)
    return UncertainValue(float(t_s[0]) + 0.5 * (low + high), combined(spread, form))


def _at_zero(force: Floats, t_s: Floats, order: int, noise: float) -> tuple[float, float]:
    """A polynomial of time over force at zero force, and its standard uncertainty by the scatter [s]."""
    design = np.vander(force / force[-1], order + 1)
    solution, *_ = np.linalg.lstsq(design, t_s, rcond=None)
    slope = abs(float(solution[-2])) / float(force[-1]) if order else 0.0  # [s/N] at zero force
    left = t_s - design @ solution
    spread = max(slope * noise, float(np.sqrt((left**2).sum() / max(len(force) - order - 1, 1))))
    return float(solution[-1]), spread * float(np.sqrt(max(np.linalg.pinv(design.T @ design)[-1, -1], 0.0)))


def _impulse(
    traces: Traces, channels: SensorChannels, onset: UncertainValue | None, duration: UncertainValue | None
) -> UncertainValue | None:
    if onset is None or duration is None:
        return None
    end_s = onset.value + duration.value
    rows = (traces.t_s >= onset.value) & (traces.t_s <= end_s)
    dt = traces.spacing_s
    each = traces.filtered[rows].sum(axis=0) * dt
    noise = traces.sum_noise * dt * float(np.sqrt(rows.sum()))
    # the offset of the quiet part stays in every sample
    offset = traces.sum_noise / np.sqrt(traces.quiet) * (end_s - onset.value)
    ring_u = _ring_u(traces, (traces.filtered[rows] - traces.corrected[rows]).sum(axis=0) * dt)
    last = abs(float(traces.filtered[rows][-1].sum())) * duration.standard  # the end, moved
    drooped = traces.drooped[rows].sum(axis=0) * dt
    return UncertainValue(
        float(each.sum()), combined(_calibration(each, drooped, channels), noise, offset, ring_u, last)
    )


def _duration(
    traces: Traces, channels: SensorChannels, total: Floats, onset: UncertainValue | None, end_s: float | None
) -> UncertainValue | None:
    if onset is None or end_s is None:
        return None
    row = min(int(np.searchsorted(traces.t_s, end_s)), len(total) - 1)
    # an error of the force there moves the end along its slope
    force_u = combined(traces.sum_noise, _calibration(traces.filtered[row], traces.drooped[row], channels))
    force_u = combined(force_u, _ring_u(traces, traces.filtered[row] - traces.corrected[row]))
    slope = _slope(traces, total, row)
    moved = force_u / slope if slope > 0.0 else 0.0
    return UncertainValue(end_s - onset.value, combined(onset.standard, moved, traces.spacing_s / np.sqrt(12.0)))


def _rise(traces: Traces, total: Floats, at: int, peak: float) -> UncertainValue | None:
    times, standard = [], traces.spacing_s / np.sqrt(12.0)
    for share in (0.1, 0.9):
        over = total[: at + 1] >= share * min(peak, float(total[at]))
        # the last rise through a tenth, the first through nine
        row = int(np.flatnonzero(~over)[-1]) if share == 0.1 and not over.all() else int(np.argmax(over)) - 1
        if row < 0:
            return None
        low, high = float(total[row]), float(total[row + 1])
        part = (share * peak - low) / (high - low) if high > low else 0.0
        times.append(float(traces.t_s[row]) + part * traces.spacing_s)
        slope = _slope(traces, total, row)
        standard = combined(standard, traces.sum_noise / slope if slope > 0.0 else 0.0)
    return UncertainValue(times[1] - times[0], standard)


def _slope(traces: Traces, total: Floats, row: int) -> float:
    """Steepness of a force about a row [N/s]."""
    first, last = max(row - 6, 0), min(row + 7, len(total) - 1)
    return abs(float(total[last] - total[first])) / (float(traces.t_s[last] - traces.t_s[first]) or 1.0)


def _load_points(traces: Traces, channels: SensorChannels, inside: slice, peak: float) -> tuple[Floats, Floats, Floats]:
    if channels.each:
        return np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2))
    force = traces.filtered[inside]
    total = force.sum(axis=1)
    known = total > POINT_SHARE * peak
    force, total = force[known], total[known, None]
    points = force @ channels.place / total
    arm = channels.place[None, :, :] - points[:, None, :]  # (m, channels, 2)
    each = (traces.noise**2)[None, :] + (force * channels.sensitivity_u95 / WIDTH) ** 2
    standard = np.sqrt((arm**2 * each[:, :, None]).sum(axis=1)) / total
    return traces.t_s[inside][known], points - channels.place.mean(axis=0), standard


# A contact with fewer rows over half of its peak is shorter than the channel resolves.
LEAST_ROWS = 10
# Likewise of the amplifier: it takes 1 % of the peak of a half sine that is so many of its time constants wide there.
LEAST_TIMES = 15.0
# A peak is found where the mean over so much of the trace is largest [s], then over TOP_SHARE of its width.
SMOOTH_S = 0.005
# The peak stands out from the noise of that mean by this factor, or there is none.
LEAST_OVER_NOISE = 5.0


def strain_peak(
    t_ns: NDArray[np.int64], force: Floats, impact_ns: int, *, bandwidth_hz: float, relative_u95: float
) -> UncertainValue | None:
    """Largest force of one impact [N].

    The channel has an offset that drifts, so it is zeroed on the second before the impact. The amplifier's low-pass
    takes off the peak what its time constant squared takes of the curvature there; that is added back.

    Args:
        t_ns: (n,) times of the samples [ns].
        force: (n,) readings as forces on the plate, offset included [N].
        impact_ns: when the detector noticed the impact [ns].
        bandwidth_hz: of the amplifier, a first-order low-pass.
        relative_u95: half-width of the 95 % interval of what all readings are scaled with, relative.

    Returns:
        None: too few samples before the impact, one that is not a number, no peak over the noise, or a contact
        shorter than the channel resolves.
    """
    begin, calm, end = np.searchsorted(
        t_ns, [impact_ns - round(s * 1e9) for s in (QUIET_S + GUARD_S, GUARD_S, -TAIL_S)]
    ).tolist()
    force, quiet = force[begin:end], calm - begin
    if quiet < 2 or 1e-9 * (t_ns[calm - 1] - t_ns[begin]) < LEAST_QUIET_S or not np.isfinite(force).all():
        return None
    spacing_s = 1e-9 * float(t_ns[begin + 1] - t_ns[begin])
    noise = float(force[:quiet].std(ddof=1))
    force = force - force[:quiet].mean()
    rows = max(round(SMOOTH_S / spacing_s), 1)
    at, smooth = _largest(force, quiet, rows)
    width = width_at_half(smooth, at)
    shortest = max(LEAST_ROWS, LEAST_TIMES / (2.0 * np.pi * bandwidth_hz * spacing_s))
    if width < shortest or smooth[at] < LEAST_OVER_NOISE * noise / np.sqrt(rows):
        return None
    half = max(round(TOP_SHARE * width), 2)
    at, _ = _largest(force, quiet, 2 * half + 1)
    peak = vertex(force, at, half, noise)
    # a half sine's curvature at its peak, by its width: two thirds of its length
    lag = 2.0 / 3.0 * np.pi / (2.0 * np.pi * bandwidth_hz * width * spacing_s)
    value = peak.value * (1.0 + 0.5 * lag * lag)
    scale = value * relative_u95 / WIDTH
    return UncertainValue(value, combined(peak.standard, noise / np.sqrt(quiet), scale, value - peak.value))


def _largest(force: Floats, quiet: int, rows: int) -> tuple[int, Floats]:
    """Row after the quiet part at which the mean over so many rows is largest, and these means."""
    smooth = np.convolve(force, np.full(rows, 1.0 / rows), "same")
    return quiet + int(np.argmax(smooth[quiet:])), smooth
