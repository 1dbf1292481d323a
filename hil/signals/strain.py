"""The peak of an impact by strain gauges: a DC-coupled, noisy channel without droop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hil.signals.impact import TOP_SHARE, UncertainValue, vertex
from hil.signals.traces import GUARD_S, LEAST_QUIET_S, QUIET_S, TAIL_S, width_at_half
from hil.signals.uncertainty import WIDTH, combined

Floats = NDArray[np.float64]

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
