"""The estimator: blocks of samples in, impact and forces out."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from hil.config.rig import Rig
from hil.estimation.channels import (
    BAD,
    COUNT,
    IMPACT_NS,
    LATER_NS,
    NEVER,
    RELEASE_NS,
    SATURATED,
    ChannelParameters,
    Channels,
    digest,
    make_channel_state,
)
from hil.estimation.loads import LoadEstimator
from hil.messages.stages import ByWheel, Estimate, Samples
from models.kernels.bound import BoundArguments

# A channel counts as saturated from this share of full scale.
SATURATION = 0.99
# Time over which the channels are averaged before arming [s].
ZERO_TIME_S = 0.2


def channel_parameters(rig: Rig) -> ChannelParameters:
    """The channels as the config describes them; without channels nothing has to be zeroed."""
    config, daq = rig.config, rig.config.daq
    if daq is None:
        return ChannelParameters(
            np.zeros((0, 2)), np.zeros(0), math.inf, np.zeros(0), math.inf, False, 1, zero_samples=-1
        )
    return ChannelParameters(
        place=np.array(daq.places_m),
        newton_per_volt=np.array([1000.0 / sensitivity for sensitivity in config.plate_sensitivities_mVpN]),
        full_scale=SATURATION * daq.range_V,
        droop=np.array([1.0 / (daq.rate_hz * droop_s) for droop_s in config.droops_s]),
        threshold=config.detector.threshold_N,
        each=daq.layout == "bumper",
        consecutive=config.detector.consecutive,
        zero_samples=round(ZERO_TIME_S * daq.rate_hz),
    )


class Estimator:
    """Detects the impact and corrects the forces; stores the peaks of the run."""

    def __init__(self, rig: Rig) -> None:
        self._parameters = channel_parameters(rig)
        self._state = make_channel_state(len(rig.layout.channels))
        self._channels = Channels(self._parameters, self._state, np.full(2, np.nan))
        self._bound = BoundArguments(self._channels)
        self._zeroed = False
        self._loads = LoadEstimator(rig) if rig.config.loads else None
        self._latest = self._evaluate((), 0)

    def warm_up(self) -> None:
        """Compile or load what an estimate runs, without a sample."""
        digest(self._bound, np.zeros(0, dtype=np.int64), np.zeros((0, len(self._parameters.newton_per_volt))))

    def estimate(self, samples: Samples) -> Estimate:
        """The estimate from these samples and all earlier ones."""
        speed_radps = samples.drives.speed_radps
        if samples.blocks:
            bad = int(self._state.whole[BAD])
            for block in samples.blocks:
                digest(self._bound, block.t_ns, block.values)
            self._latest = self._evaluate(speed_radps, bad)
        elif not self._latest.finite or speed_radps is not self._latest.wheel_speed_radps:
            self._latest = replace(self._latest, finite=True, wheel_speed_radps=speed_radps)
        if self._loads is not None:
            self._take_loads(self._loads, samples)
        return self._latest

    def _take_loads(self, loads: LoadEstimator, samples: Samples) -> None:
        before = loads.state
        if samples.load_blocks:
            loads.take(samples.load_blocks)
        else:
            loads.rest()
        if loads.state is not before or self._latest.loads is not before:
            zeroed = self._zeroed and loads.zeroed
            self._latest = replace(
                self._latest,
                zeroed=zeroed,
                loads=loads.state,
                wheel_load_N=loads.wheel_load_N,
                pull_N=loads.pull_N,
            )

    def _evaluate(self, speed_radps: ByWheel, bad_before: int) -> Estimate:
        """The estimate from the present state, with the number of bad samples that were known before."""
        state, zero_samples = self._state, self._parameters.zero_samples
        whole = state.whole.tolist()
        count, impact_ns = whole[COUNT], whole[IMPACT_NS]
        if not self._zeroed:  # once zeroed, bias and noise stay as they are
            others = max(min(count, zero_samples) - 1, 1)
            self._bias_V = tuple(state.bias.tolist())
            self._noise_V = tuple([math.sqrt(square / others) for square in state.square.tolist()])
            self._zeroed = count > zero_samples
        across, up = self._channels.point.tolist()
        return Estimate(
            zeroed=self._zeroed,
            bias_V=self._bias_V,
            noise_V=self._noise_V,
            finite=whole[BAD] == bad_before,
            saturated=bool(whole[SATURATED]),
            impact_ns=None if impact_ns == NEVER else impact_ns,
            force_N=tuple(state.force.tolist()),
            load_point_m=(across, up),
            wheel_speed_radps=speed_radps,
            still=tuple(state.still.tolist()),
        )

    def reset(self) -> None:
        """Reset the state: zero the channels again, and detect a new impact."""
        for old, fresh in zip(self._state, make_channel_state(len(self._state.bias)), strict=True):
            old[...] = fresh
        self._channels.point[:] = math.nan
        self._zeroed = False
        if self._loads is not None:
            self._loads.reset()
        self._latest = self._evaluate((), 0)

    @property
    def peaks_N(self) -> tuple[float, ...]:
        """Largest corrected force of each channel, of their sum, and of the sum after the release [N]."""
        return tuple(self._state.peak[:-2].tolist())

    @property
    def impact_peak_N(self) -> float:
        """Largest sum during the impact, which ends when the sum has fallen to `IMPACT_OVER` of it [N]."""
        return float(self._state.peak[-2])

    @property
    def later_peak(self) -> tuple[float, float] | None:
        """Largest sum after the impact in the same contact [N], and how long after the impact's first sample [s].

        On a shallow obstacle this is the weight of the rover on it. None if the contact ended with the impact.
        """
        began, at = int(self._state.whole[IMPACT_NS]), int(self._state.whole[LATER_NS])
        return None if NEVER in (began, at) else (float(self._state.peak[-1]), (at - began) * 1e-9)

    @property
    def contact_duration_s(self) -> float | None:
        """Time from the first sample over the threshold to the end of that contact [s]; None while it lasts."""
        began, ended = int(self._state.whole[IMPACT_NS]), self.contact_end_ns
        return None if began == NEVER or ended is None else (ended - began) * 1e-9

    @property
    def contact_end_ns(self) -> int | None:
        """First sample after the contact [ns]; None while it lasts."""
        ended = int(self._state.whole[RELEASE_NS])
        return None if ended == NEVER else ended

    @property
    def load_points_m(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Load point at the impact and at the peak of the sum [m], (across, up) from the triangle's centroid.

        NaN before the impact, and for a bumper.
        """
        first, peak = self._state.point.tolist()
        return (first[0], first[1]), (peak[0], peak[1])
