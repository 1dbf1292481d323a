"""Kernels over blocks of piezo samples: impact detection, droop correction and peaks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel

# slots of _ChannelState.whole
RUN, RUN_NS, IMPACT_NS, PEAK_NS, RELEASE_NS, BELOW, BELOW_NS, SATURATED, COUNT, BAD, FALLEN, LATER_NS = range(12)
NEVER = -1
# The impact is over once the sum has fallen to this share of its largest value: the wheel is pushed back by then. On a
# shallow obstacle the wheel stays on the ramp, and from then on the sensors measure weight
# (docs/explanation/contact.md).
IMPACT_OVER = 0.8


class ChannelParameters(NamedTuple):
    """Constants of the channels."""

    place: FloatArray  #: (channels, 2) sensors on the plate [m]; NaN for those of a bumper, and for up of links
    newton_per_volt: FloatArray  #: (channels,), newtons on the plate
    full_scale: float  #: [V] at which a channel counts as saturated
    droop: FloatArray  #: (channels,) share of the reading that each channel's AC coupling removes in one sample
    threshold: float  #: impact threshold on the sum of the channels, or on the largest if `each` [N]
    each: bool  #: every channel is a separate bumper; else all share one plate
    consecutive: int  #: samples in a row over it
    zero_samples: int  #: samples that the bias is averaged over


class _ChannelState(NamedTuple):
    """The state kept between blocks."""

    bias: FloatArray  #: (channels,) [V], running mean until zeroed
    square: FloatArray  #: (channels,) running sum of squared differences [V^2] (Welford)
    drooped: FloatArray  #: (channels,) what the coupling has removed so far [N]
    force: FloatArray  #: (channels,) newest corrected force [N]
    #: (channels + 4,) largest corrected force of each channel, of their sum, of the sum after the release, of the sum
    #: while the impact lasts, and of the sum from then on while the contact lasts [N]
    peak: FloatArray
    point: FloatArray  #: (2, 2) load point [m] at the impact and at the peak of the sum
    whole: IntArray  #: counters and times [ns], see the slots above
    last: FloatArray  #: (channels,) newest sample [V]
    still: IntArray  #: (channels,) number of samples in a row, up to the newest, that equal the newest bit for bit


def make_channel_state(channels: int) -> _ChannelState:
    """Allocate the state before the first sample."""
    whole = np.zeros(12, np.int64)
    whole[[IMPACT_NS, PEAK_NS, RELEASE_NS, LATER_NS]] = NEVER
    bias, square, drooped, force = np.zeros((4, channels))
    last, still = np.full(channels, np.nan), np.zeros(channels, np.int64)
    return _ChannelState(
        bias, square, drooped, force, np.zeros(channels + 4), np.full((2, 2), np.nan), whole, last, still
    )


class Channels(NamedTuple):
    """The channels, and where to put the load point of the newest sample (2,) [m]."""

    parameters: ChannelParameters
    state: _ChannelState
    point: FloatArray


@kernel
def digest(channels: BoundArguments[Channels], t_ns: IntArray, volts: FloatArray) -> None:
    """Process a block (n, channels) [V] with its times (n,) [ns].

    The first `zero_samples` samples set the bias. From then on each channel's droop is corrected, x = y + (1/tau) times
    the integral of y (the inverse of a first-order AC coupling), the sum is compared with the threshold, and peaks
    and the end of contact are stored. A sample that is not finite is left out and counted. The load point is that of
    the newest sample, NaN below the threshold and for bumpers.
    """
    p, s, point = unpack(channels)
    for i in range(t_ns.size):
        finite = True
        for c in range(s.force.size):
            finite = finite and np.isfinite(volts[i, c])
        if not finite:
            s.whole[BAD] += 1
            continue
        s.whole[COUNT] += 1
        if s.whole[COUNT] <= p.zero_samples:
            for c in range(s.force.size):
                difference = volts[i, c] - s.bias[c]
                s.bias[c] += difference / s.whole[COUNT]
                s.square[c] += difference * (volts[i, c] - s.bias[c])
            continue
        total, largest = 0.0, 0.0
        for c in range(s.force.size):
            if abs(volts[i, c]) >= p.full_scale:
                s.whole[SATURATED] = 1
            reading = (volts[i, c] - s.bias[c]) * p.newton_per_volt[c]
            s.drooped[c] += reading * p.droop[c]
            s.force[c] = reading + s.drooped[c]
            total += s.force[c]
            largest = max(largest, s.force[c])
        level = largest if p.each else total
        _detect(p, s, t_ns[i], level, total)
        _note_peak(p, s, t_ns[i], level, total)
    total = 0.0
    for c in range(s.force.size):
        total += s.force[c]
    if total >= p.threshold:
        _load_point(p, s, total, point)
    else:
        point[0] = point[1] = np.nan
    _note_still(p, s, volts)


@kernel
def _note_still(p: ChannelParameters, s: _ChannelState, volts: FloatArray) -> None:
    """Count the newest samples in which each channel has not changed; the search goes back from the newest sample.

    A sample at full scale does not count: it is saturated, not frozen.
    """
    count = volts.shape[0]
    if count == 0:
        return
    for c in range(s.still.size):
        newest = volts[count - 1, c]
        if not abs(newest) < p.full_scale:
            s.still[c], s.last[c] = 0, newest
            continue
        i = count - 1
        while i > 0 and volts[i - 1, c] == newest:
            i -= 1
        if i == 0 and s.last[c] == newest:
            s.still[c] += count
        else:
            s.still[c] = count - i
        s.last[c] = newest


@kernel
def _detect(p: ChannelParameters, s: _ChannelState, t_ns: int, level: float, total: float) -> None:
    if level < p.threshold:
        s.whole[RUN] = 0
        return
    if s.whole[RUN] == 0:
        s.whole[RUN_NS] = t_ns
    s.whole[RUN] += 1
    if s.whole[IMPACT_NS] == NEVER and s.whole[RUN] >= p.consecutive:
        s.whole[IMPACT_NS] = s.whole[RUN_NS]
        _load_point(p, s, total, s.point[0])


@kernel
def _note_peak(p: ChannelParameters, s: _ChannelState, t_ns: int, level: float, total: float) -> None:
    the_sum = s.force.size
    if s.whole[IMPACT_NS] == NEVER:
        return
    if s.whole[RELEASE_NS] != NEVER:
        s.peak[the_sum + 1] = max(s.peak[the_sum + 1], total)
    for c in range(s.force.size):
        s.peak[c] = max(s.peak[c], s.force[c])
    if total > s.peak[the_sum]:
        s.peak[the_sum] = total
        s.whole[PEAK_NS] = t_ns
        _load_point(p, s, total, s.point[1])
    _note_phases(p, s, t_ns, total)
    # contact is over when the level stays under the threshold for 5 times as many samples as detection takes;
    # the end is the first of these samples
    if level < p.threshold:
        if s.whole[BELOW] == 0:
            s.whole[BELOW_NS] = t_ns
        s.whole[BELOW] += 1
    else:
        s.whole[BELOW] = 0
    if s.whole[RELEASE_NS] == NEVER and s.whole[BELOW] >= 5 * p.consecutive:
        s.whole[RELEASE_NS] = s.whole[BELOW_NS]


@kernel
def _note_phases(p: ChannelParameters, s: _ChannelState, t_ns: int, total: float) -> None:
    """Keep the peak of the impact itself separate from the peak later in the same contact.

    The impact is over when the sum stays under a share of its largest value, for as many samples as the end of a
    contact takes.
    """
    during, later = s.force.size + 2, s.force.size + 3
    if s.whole[RELEASE_NS] != NEVER:
        return
    if s.whole[FALLEN] >= 5 * p.consecutive:
        if total > s.peak[later]:
            s.peak[later] = total
            s.whole[LATER_NS] = t_ns
        return
    s.peak[during] = max(s.peak[during], total)
    if total < IMPACT_OVER * s.peak[during]:
        s.whole[FALLEN] += 1
    else:
        s.whole[FALLEN] = 0


@kernel
def _load_point(p: ChannelParameters, s: _ChannelState, total: float, out: FloatArray) -> None:
    """Force-weighted position of the sensors, from their centroid; NaN for bumpers, which have no position."""
    for axis in range(2):
        weighted, centroid = 0.0, 0.0
        for c in range(s.force.size):
            weighted += s.force[c] * p.place[c, axis]
            centroid += p.place[c, axis] / s.force.size
        out[axis] = weighted / total - centroid
