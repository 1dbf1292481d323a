"""The sensors of an impact trial after the run: config and record in, the measured impact and its results out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from hil.config import Config
from hil.config.rig_setup import links_gain
from hil.config.schema.loads import FRAME
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.summary import finite
from hil.experiments.summary_table import SummaryKey, quantity, result_rows, summary_table, verdict_rows
from hil.recording.content import Recorded, between
from hil.residuals.evidence import wheel_turn
from hil.signals.impact import MeasuredImpact, UncertainValue, measure_impact, strain_peak
from hil.signals.traces import SensorChannels, half_width, span_ns
from hil.signals.vibration import ShieldResonance

# Peaks of the summary, and where a measured impact has them.
PEAKS = {"peak_force_N": "peak_N", "sum_of_peaks_N": "sum_of_peaks_N"}
# All keys about them, those of vibration left in among them.
PEAK_KEYS = tuple(
    f"{kind}{name.removesuffix('_N')}{what}_N" for name in PEAKS for kind in ("", "corrected_") for what in ("", "_u95")
)
GROUSER_KEYS = ("grouser_offset_deg", "grouser_pitch_deg")
# Those of a wheel with an encoder at its axle, and the wheel that hits the instrumented obstacle.
ENCODED_KEYS, HIT_WHEEL = ("wheel_angle_deg", "grouser_number"), "front_right"
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


def measured_impact(run: FinishedRun) -> MeasuredImpact | None:
    """The impact of a trial; None: there was none, or not all samples were kept."""
    impact_ns = run.cycle.tick_logger.impact_ns
    if run.samples is None or impact_ns is None or run.config.daq is None:
        return None
    return impact_in(sensor_channels(run.config), *run.samples, impact_ns)


def impact_in(sensors: SensorChannels, t_ns: Recorded, volts: Recorded, impact_ns: int) -> MeasuredImpact | None:
    """The impact at that time in samples (n,) [ns], (n, channels) [V] of these sensors; see `measure_impact`."""
    near = between(t_ns, *span_ns(impact_ns))
    return measure_impact(t_ns[near], volts[near], impact_ns, sensors)


def measured_speed_mps(run: FinishedRun) -> float | None:
    """Speed at the impact by the rover twin, which follows the measured wheel speeds; None: no impact."""
    impact_ns, ticks = run.cycle.tick_logger.impact_ns, run.ticks
    if impact_ns is None:
        return None
    before = ticks["speed_mps"][(ticks["t_ns"] < impact_ns) & (ticks["t_ns"] >= impact_ns - round(SPEED_S * 1e9))]
    return finite(float(before.mean())) if before.size else None


def grouser_keys(run: FinishedRun) -> Summary:
    """How the grousers of the starboard front wheel stood at the impact (MacMahon 2016, 6.2.7); None of a smooth wheel.

    The offset is alpha of the grouser nearest to the line of contact, positive above it: `wheel.grouser_offset_deg`
    less the angle through which the wheel has turned since, by its measured speed; or, where the wheel has an encoder,
    from the encoder's zero on. Then the angle and that grouser's number are there, too.
    """
    config, ticks, impact_ns = run.config, run.ticks, run.cycle.tick_logger.impact_ns
    encoded = HIT_WHEEL in config.layout.joints_channels
    keys = GROUSER_KEYS + ENCODED_KEYS * encoded
    if impact_ns is None:
        return dict.fromkeys(keys)
    if encoded:
        place = config.layout.joints_channels.index(HIT_WHEEL)
        t_s, turned = wheel_turn(ticks, config.encoders[place], place)
        turned_deg = math.degrees(float(np.interp(1e-9 * impact_ns, t_s, turned))) if len(t_s) else math.nan
    else:
        before = ticks[ticks["t_ns"] <= impact_ns]
        speed = before["wheel_speed_radps"][:, config.layout.wheels.index(HIT_WHEEL)]
        turned_deg = math.degrees(float(np.trapezoid(np.nan_to_num(speed), 1e-9 * before["t_ns"])))
    values: list[float | None] = [None, None, finite(turned_deg), None]
    if (grousers := config.wheels[HIT_WHEEL].grousers) and math.isfinite(turned_deg):
        pitch_deg, left_deg = 360.0 / grousers, config.wheel.grouser_offset_deg - turned_deg
        offset_deg = (left_deg + 0.5 * pitch_deg) % pitch_deg - 0.5 * pitch_deg
        values = [offset_deg, pitch_deg, turned_deg, round((left_deg - offset_deg) / pitch_deg) % grousers]
    return dict(zip(keys, values, strict=False))


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


def strain_keys(run: FinishedRun) -> Summary:
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


_IF = "judged_without"  # of a rig with instruments of motion

RESULTS = (
    SummaryKey("angle_deg", "inclination of the obstacle", "obstacle angle", 1, "°"),
    SummaryKey("impact_speed_mps", "forward speed when a wheel first touched an obstacle that the sensors bear",
        "impact speed", 1, "mm/s", 1e3, main="impact speed"),
    SummaryKey("peak_force_N, peak_force_u95_N", "largest sum of the sensors over time, vibration removed: the best "
        "estimate ([why](../explanation/sensing.md#which-peak-leads)); `..._u95_...`, of all keys, is the half-width "
        "of the 95 % interval. One wheel with a triangle or links, both with bumpers. Where `peak_force_u95_N` is null "
        "it is `corrected_peak_force_N`", "peak force, sum of sensors", 1, "N", main="peak force"),
    SummaryKey("corrected_peak_force_N, corrected_peak_force_u95_N", "the same of the corrected readings, as the loop "
        "has them: with the vibration", "with vibration left in", 1, "N"),
    SummaryKey("impact_peak_force_N", "`corrected_peak_force_N` until the sum has fallen to 0.8 of its peak: the "
        "[impact itself](../explanation/contact.md#impact-and-weight-on-the-obstacle)",
        "the same, of the impact itself", 1, "N"),
    SummaryKey("sum_of_peaks_N, sum_of_peaks_u95_N", "sum of the channels' maxima, vibration removed",
        "sum of the channels' peaks", 1, "N"),
    SummaryKey("corrected_sum_of_peaks_N, corrected_sum_of_peaks_u95_N", "that sum with vibration left in"),
    SummaryKey("contact_force_peak_N", "ground truth of the plant, over both front wheels", "peak contact force, plant",
        1, "N (both wheels)"),
    SummaryKey("effective_kinetic_energy_J", "T_c at the impact, of the rover twin and of the plant", "T_c, twin", 4,
        "J", main="T_c"),
    SummaryKey("effective_kinetic_energy_plant_J", "", "T_c, plant", 4, "J"),
    SummaryKey("effective_kinetic_energy_on_ground_J", "the same with the active constraints of rigid, level ground "
        "under the wheels ([which belongs to which "
        "ground](../explanation/contact.md#which-t_c-belongs-to-which-ground))", "T_c with the ground, twin", 4, "J"),
    SummaryKey("effective_kinetic_energy_plant_on_ground_J", "", "T_c with the ground, plant", 4, "J"),
    SummaryKey("load_point_m", "[across, up] from the sensors' centroid, at the sum's peak; null with bumpers; up is "
        "null with rear links", "load point", 1, "mm (across, up)", 1e3),
    SummaryKey("load_point_u95_m", ""),
    SummaryKey("grouser_offset_deg", "angle of the starboard front wheel's grouser nearest to the line of contact at "
        "the impact, positive above it, by `wheel.grouser_offset_deg`; angle between two grousers; null of a smooth "
        "wheel", "grouser offset at the impact", 1, "°", when="grouser_offset_deg"),
    SummaryKey("grouser_pitch_deg", ""),
    SummaryKey("wheel_angle_deg", "how far that wheel had rolled from the zero of the encoder at its axle, and the "
        "number of that grouser in the direction in which it rolls, 0 for the one of `wheel.grouser_offset_deg`; only "
        "with such an encoder (`joints.encoders`)", "wheel angle at the impact", 2, "°", when="wheel_angle_deg"),
    SummaryKey("grouser_number", ""),
    SummaryKey("contact_duration_s", "from `impact_time_s` until the sum stays under the threshold", "contact duration",
        1, "ms", 1e3, main="contact"),
    SummaryKey("impulse_Ns, impulse_u95_Ns", "of the sum without vibration, from the onset until it was last 5 % of "
        "its peak, and that time; null: it did not end", "impulse", 3, "N s"),
    SummaryKey("force_duration_s, force_duration_u95_s", "", "time of the impulse", 1, "ms", 1e3),
    SummaryKey("rise_time_s, rise_time_u95_s", "from 10 to 90 % of that peak", "rise time", 1, "ms", 1e3),
    SummaryKey("vibration_hz", "found in the quiet part and in the tail, and removed", "vibration removed", 1, "Hz"),
    SummaryKey("impact_speed_measured_mps", "by the rover twin, which follows the measured wheel speeds, and which "
        "instruments of motion correct", "speed by twin and wheels", 1, "mm/s", 1e3),
    SummaryKey("onset_s, onset_u95_s", "when the force began, extrapolated from its rise", "onset at", 5, "s"),
    SummaryKey("cut_latency_ms", "[words.md](words.md); a release by operator or time counts as it came; null: it came "
        "before the impact", "cut latency", 2, "ms"),
    SummaryKey("cut_effective_ms", "", "drives cut, simulated rig", 2, "ms"),
    SummaryKey("impact_time_s", "time of the first sample over the threshold", "impact at", 4, "s"),
    SummaryKey("impact_speed_sd_mps", "standard deviation of `impact_speed_measured_mps`, by the "
        "[observer](../explanation/observer.md). Null without instruments of motion, as the next six keys",
        "standard deviation of the speed", 2, "mm/s", 1e3, when=_IF),
    SummaryKey("effective_kinetic_energy_sd_J", "that of `effective_kinetic_energy_J`, which is then of the corrected "
        "twin", "standard deviation of T_c, twin", 4, "J", when=_IF),
    SummaryKey("approach_angle_deg", "heading against the obstacle's normal in the last tick before the impact; "
        "positive: to port. Needs `motion` with a pose or a position", "angle of approach", 2, "°", when=_IF),
    SummaryKey("hit_across_m", "how far to port the starboard front wheel then was of where it hits if all is straight",
        "hit across, to port", 1, "mm", 1e3, when=_IF),
    SummaryKey("hit_height_m", "height over the rig's origin at which a smooth wheel then touches the plate, from the "
        "measured place, attitude and joint angles; a wheel that has sunk in hits lower", "height of the hit", 1, "mm",
        1e3, when=_IF),
    SummaryKey("approach_angle_sd_deg, hit_across_sd_m, hit_height_sd_m", "standard deviations of these"),
    SummaryKey("strain_peak_N, strain_peak_u95_N", "peak of one wheel's force by [strain gauges on the "
        "frame](../explanation/sensing.md#strain-gauges-on-the-frame); only with `loads.strain_gauges`. Null: none "
        "that they resolve", "peak force, strain gauges", 1, "N"),
    SummaryKey("impulse_by_sensor_Ns, impulse_middle_by_sensor_s", "of each sensor: its impulse over the same time, "
        "and when half of it had passed"),
    SummaryKey("grouser_hits", "peaks of the sum in the contact; a smooth wheel has 1"),
    SummaryKey("judged_without", "instruments that did not correct the observer at the impact, as `motion: left out at "
        "the impact`", "judged without", when="judged_without"),
    SummaryKey("posture_deg", "of driven joints by name, in the posture of least T_c; null: that of the start "
        "(`trial.posture`)"),
    SummaryKey("release", "`trial.release`: what cut the drives"),
    SummaryKey("quality", "every rule: `rule`, `value`, `limit`, `ok`. `ok` null: not judged"),
)  # fmt: skip
# What only an impact that another program recorded has.
FOREIGN = (
    SummaryKey("effective_kinetic_energy_nominal_J", "", "T_c of the config's rover at its speed", 4, "J"),
    SummaryKey("cut_tick_ms", "", "from the impact to the tick that cuts", 2, "ms"),
)  # fmt: skip


def foreign_table(summary: Mapping[str, Any]) -> Table:
    """The table of an impact that another program recorded: only what its samples say, and each rule."""
    rows = result_rows((*RESULTS, *FOREIGN), summary)
    verdicts = {True: "kept", False: "broken", None: "not judged"}
    for rule in summary["quality"]:
        found, limit = quantity(rule["value"], "", 3), quantity(rule["limit"], "", 3)
        rows.append((f"rule {rule['rule']}", f"{verdicts[rule['ok']]}: {found}, limit {limit}"))
    rows += [("note", text) for text in summary["notes"]]
    return summary_table("Impact of another program's record", [*verdict_rows(summary), *rows])
