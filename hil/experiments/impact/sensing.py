"""The sensors of an impact trial after the run: config and record in, the measured impact and its summary keys out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hil.config import Config
from hil.config.load_channels import links_gain
from hil.config.schema.loads import FRAME
from hil.experiments.base import Finished, Summary
from hil.experiments.summary import finite
from hil.recording.stored_rows import Recorded, between
from hil.signals.channels import SensorChannels
from hil.signals.impact import MeasuredImpact, UncertainValue, measure_impact
from hil.signals.strain import strain_peak
from hil.signals.traces import span_ns
from hil.signals.uncertainty import half_width
from hil.signals.vibration import ShieldResonance

# Peaks of the summary, and where a measured impact has them.
PEAKS = {"peak_force_N": "peak_N", "sum_of_peaks_N": "sum_of_peaks_N"}
# All keys about them, those of vibration left in among them.
PEAK_KEYS = tuple(
    f"{kind}{name.removesuffix('_N')}{what}_N" for name in PEAKS for kind in ("", "corrected_") for what in ("", "_u95")
)
GROUSER_KEYS = ("grouser_offset_deg", "grouser_pitch_deg")
# The speed of an impact is the twin's mean over this time before it [s].
SPEED_S = 0.05


def sensor_channels(config: Config) -> SensorChannels:
    """The force sensors as config and calibration sheets describe them; the rig has some."""
    daq = config.daq
    assert daq is not None
    return SensorChannels(
        daq.rate_hz,
        1000.0 / np.array(config.plate_sensitivities_mVpN),
        np.array(config.droops_s),
        np.array(config.sensitivities_u95),
        np.array(config.droops_u95),
        np.array(daq.places_m),
        daq.layout == "bumper",
        ShieldResonance(daq.ring_hz, daq.ring_damping, daq.ring_share),
        config.hit_place_u95,
    )


def measured_impact(run: Finished) -> MeasuredImpact | None:
    """The impact of a trial; None: there was none, or not all samples were kept."""
    impact_ns = run.cycle.tick_logger.impact_ns
    if run.samples is None or impact_ns is None or run.config.daq is None:
        return None
    return impact_in(sensor_channels(run.config), *run.samples, impact_ns)


def impact_in(sensors: SensorChannels, t_ns: Recorded, volts: Recorded, impact_ns: int) -> MeasuredImpact | None:
    """The impact at that time in samples (n,) [ns], (n, channels) [V] of these sensors; see `measure_impact`."""
    near = between(t_ns, *span_ns(impact_ns))
    return measure_impact(t_ns[near], volts[near], impact_ns, sensors)


def measured_speed_mps(run: Finished) -> float | None:
    """Speed at the impact by the rover twin, which follows the measured wheel speeds; None: no impact."""
    impact_ns, ticks = run.cycle.tick_logger.impact_ns, run.ticks
    if impact_ns is None:
        return None
    before = ticks["speed_mps"][(ticks["t_ns"] < impact_ns) & (ticks["t_ns"] >= impact_ns - round(SPEED_S * 1e9))]
    return finite(float(before.mean())) if before.size else None


def grouser_keys(run: Finished) -> Summary:
    """How the grousers of the starboard front wheel stood at the impact (MacMahon 2016, 6.2.7); None of a smooth wheel.

    The offset is alpha of the grouser nearest to the line of contact, positive above it: `wheel.grouser_offset_deg`
    less the angle through which the wheel has turned since, by its measured speed.
    """
    config, ticks, impact_ns = run.config, run.ticks, run.cycle.tick_logger.impact_ns
    if impact_ns is None or not (grousers := config.wheels["front_right"].grousers):
        return dict.fromkeys(GROUSER_KEYS)
    before = ticks[ticks["t_ns"] <= impact_ns]
    speed = before["wheel_speed_radps"][:, config.layout.wheels.index("front_right")]
    turned_deg = math.degrees(float(np.trapezoid(np.nan_to_num(speed), 1e-9 * before["t_ns"])))
    pitch_deg = 360.0 / grousers
    offset_deg = (config.wheel.grouser_offset_deg - turned_deg + 0.5 * pitch_deg) % pitch_deg - 0.5 * pitch_deg
    return dict(zip(GROUSER_KEYS, (finite(offset_deg), pitch_deg), strict=True))


def peak_keys(impact: MeasuredImpact | None, corrected_N: Sequence[float]) -> Summary:
    """`PEAK_KEYS` of a trial with an impact: the best estimate of each peak, and the peak of the corrected readings.

    The peak without vibration leads wherever the samples give one: on soft and on stiff plates it is ten times nearer
    the truth than the corrected readings, and in no group of trials farther (docs/explanation/sensing.md).

    Args:
        impact: measured from all samples; None: they were not kept, or they show no impact. Then the corrected reading
            is all there is, and no interval is known.
        corrected_N: peaks of the corrected readings, vibration left in, in the order of `PEAKS` [N].
    """
    values: list[float | None] = []
    for field, as_read in zip(PEAKS.values(), corrected_N, strict=True):
        best: UncertainValue | None = getattr(impact, field) if impact else None
        leading = finite(as_read) if best is None else finite(best.value)
        values += [leading, _u95(best), finite(as_read), _u95(best, as_read)]
    return dict(zip(PEAK_KEYS, values, strict=True))


def measured_keys(impact: MeasuredImpact | None) -> Summary:
    """Further keys of the summary that need all samples; None without an impact measured from them."""
    if impact is None:
        return dict.fromkeys(KEYS)
    vibration = [tone.hz for tone in impact.traces.tones]
    vibration += [ring.hz for shield in impact.traces.shields if shield.shown for ring in shield.rings]
    points = impact.points_u_m
    at = int(np.argmin(np.abs(impact.point_t_s - impact.peak_s))) if len(points) else None
    return {
        "onset_s": _value(impact.onset_s),
        "onset_u95_s": _u95(impact.onset_s),
        "impulse_Ns": _value(impact.impulse_Ns),
        "impulse_u95_Ns": _u95(impact.impulse_Ns),
        **_by_sensor(impact),
        "force_duration_s": _value(impact.duration_s),
        "force_duration_u95_s": _u95(impact.duration_s),
        "rise_time_s": _value(impact.rise_s),
        "rise_time_u95_s": _u95(impact.rise_s),
        "grouser_hits": impact.hits,
        "load_point_u95_m": None if at is None else [finite(half_width(float(one))) for one in points[at]],
        "vibration_hz": vibration,
    }


def _by_sensor(impact: MeasuredImpact) -> Summary:
    """Impulse of each sensor, and when half of it has passed; None as a whole where the contact did not end."""
    keys = "impulse_by_sensor_Ns", "impulse_middle_by_sensor_s"
    if impact.onset_s is None or impact.duration_s is None:
        return dict.fromkeys(keys)
    traces, onset_s = impact.traces, impact.onset_s.value
    rows = (traces.t_s >= onset_s) & (traces.t_s <= onset_s + impact.duration_s.value)
    force, t_s = traces.filtered[rows], traces.t_s[rows]
    impulses = force.sum(axis=0) * traces.spacing_s
    passed = np.cumsum(force, axis=0) * traces.spacing_s
    middles = [
        float(np.interp(0.5 * whole, one, t_s)) if whole > 0.0 else math.nan
        for one, whole in zip(np.maximum.accumulate(passed, axis=0).T, impulses.tolist(), strict=True)
    ]
    return dict(zip(keys, ([finite(float(one)) for one in found] for found in (impulses, middles)), strict=True))


# Keys that need all samples, and so those that a summary made before this analysis has none of.
KEYS = (
    "onset_s",
    "onset_u95_s",
    "impulse_Ns",
    "impulse_u95_Ns",
    "impulse_by_sensor_Ns",
    "impulse_middle_by_sensor_s",
    "force_duration_s",
    "force_duration_u95_s",
    "rise_time_s",
    "rise_time_u95_s",
    "grouser_hits",
    "load_point_u95_m",
    "vibration_hz",
)


def _value(found: UncertainValue | None) -> float | None:
    return None if found is None else finite(found.value)


def _u95(found: UncertainValue | None, reported: float | None = None) -> float | None:
    """Half-width of the interval about the value itself, or about one that is reported with vibration left in."""
    if found is None:
        return None
    return finite(half_width(found.standard, 0.0 if reported is None else reported - found.value))


def strain_keys(run: Finished) -> Summary:
    """Peak of one wheel's force by strain gauges on the frame, and its interval; no keys of a rig without them.

    They are a second source of the peak (MacMahon 2016, 6.2.2).
    """
    config, loads, impact_ns = run.config, run.config.loads, run.cycle.tick_logger.impact_ns
    if loads is None or loads.strain_gauges is None:
        return {}
    gauges, found = loads.strain_gauges, None
    part, part_u95 = config.frame_part(gauges.link)
    if impact_ns is not None and run.load_samples is not None:
        t_ns, volts = map(np.asarray, run.load_samples)
        force = volts[:, config.layout.loads.index(FRAME)] * links_gain(config) / part
        relative_u95 = math.hypot(gauges.sensitivity_u95, part_u95)
        found = strain_peak(t_ns, force, impact_ns, bandwidth_hz=gauges.bandwidth_hz, relative_u95=relative_u95)
    values = (None, None) if found is None else (finite(found.value), finite(half_width(found.standard)))
    return dict(zip(("strain_peak_N", "strain_peak_u95_N"), values, strict=True))
