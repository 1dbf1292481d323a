"""The results of an impact trial, and their table in the terminal, in whose order they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hil.experiments.summary_table import SummaryKey, loop_rows, quantity, result_rows, summary_table, verdict_rows

_U95 = "95 % interval, half"
_IF = "judged_without"  # of a rig with instruments of motion

RESULTS = (
    SummaryKey("angle_deg", "inclination of the obstacle", "obstacle angle", 1, "°"),
    SummaryKey("impact_speed_mps", "forward speed when a wheel first touched the obstacle", "impact speed", 1, "mm/s",
        1e3, main="impact speed"),
    SummaryKey("peak_force_N", "largest sum of the sensors over time, vibration removed: the best estimate "
        "([why](../explanation/sensing.md#which-peak-leads)); `..._u95_...`, of all keys, is the half-width of the 95 "
        "% interval. One wheel with a triangle or links, both with bumpers. Where `peak_force_u95_N` is null it is "
        "`corrected_peak_force_N`", "peak force, sum of sensors", 1, "N", main="peak force"),
    SummaryKey("peak_force_u95_N", "", _U95, 1, "N"),
    SummaryKey("corrected_peak_force_N", "the same of the corrected readings, as the loop has them: with the vibration",
        "with vibration left in", 1, "N"),
    SummaryKey("corrected_peak_force_u95_N", "", _U95, 1, "N"),
    SummaryKey("impact_peak_force_N", "`corrected_peak_force_N` until the sum has fallen to 0.8 of its peak: the "
        "[impact itself](../explanation/contact.md#impact-and-weight-on-the-obstacle)",
        "the same, of the impact itself", 1, "N"),
    SummaryKey("sum_of_peaks_N", "sum of the channels' maxima, vibration removed", "sum of the channels' peaks", 1,
        "N"),
    SummaryKey("sum_of_peaks_u95_N", ""),
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
        "wheel", "grouser offset at the impact", 1, "°"),
    SummaryKey("grouser_pitch_deg", ""),
    SummaryKey("contact_duration_s", "from `impact_time_s` until the sum stays under the threshold", "contact duration",
        1, "ms", 1e3, main="contact"),
    SummaryKey("impulse_Ns", "of the sum without vibration, from the onset until it was last 5 % of its peak, and that "
        "time; null: it did not end", "impulse", 3, "N s"),
    SummaryKey("impulse_u95_Ns, force_duration_s, force_duration_u95_s", ""),
    SummaryKey("rise_time_s", "from 10 to 90 % of that peak", "rise time", 1, "ms", 1e3),
    SummaryKey("rise_time_u95_s", ""),
    SummaryKey("vibration_hz", "found in the quiet part and in the tail, and removed", "vibration removed", 1, "Hz"),
    SummaryKey("impact_speed_measured_mps", "by the rover twin, which follows the measured wheel speeds, and which "
        "instruments of motion correct", "speed by twin and wheels", 1, "mm/s", 1e3),
    SummaryKey("onset_s", "when the force began, extrapolated from its rise", "onset at", 4, "s"),
    SummaryKey("onset_u95_s", ""),
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
    SummaryKey("strain_peak_N", "peak of one wheel's force by [strain gauges on the "
        "frame](../explanation/sensing.md#strain-gauges-on-the-frame); only with `loads.strain_gauges`. Null: none "
        "that they resolve", "peak force, strain gauges", 1, "N"),
    SummaryKey("strain_peak_u95_N", "", _U95, 1, "N"),
    SummaryKey("impulse_by_sensor_Ns, impulse_middle_by_sensor_s", "of each sensor: its impulse over the same time, "
        "and when half of it had passed"),
    SummaryKey("grouser_hits", "peaks of the sum in the contact; a smooth wheel has 1"),
    SummaryKey("judged_without", "instruments that did not correct the observer at the impact, as `motion: left out at "
        "the impact`"),
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


def impact_table(summary: Mapping[str, Any]) -> Table:
    """The table of a trial for the terminal, the verdict first.

    Args:
        summary: As in `summary.json`; what is null shows as a dash.
    """
    rows = result_rows(RESULTS, summary)
    rows += [("judged without", words) for words in summary.get("judged_without") or ()]
    return summary_table("Impact trial", [*verdict_rows(summary), *rows, *loop_rows(summary)])


def foreign_table(summary: Mapping[str, Any]) -> Table:
    """The same of an impact that another program recorded: only what its samples say, and each rule."""
    rows = result_rows((*RESULTS, *FOREIGN), summary)
    verdicts = {True: "kept", False: "broken", None: "not judged"}
    for rule in summary["quality"]:
        found, limit = quantity(rule["value"], "", 3), quantity(rule["limit"], "", 3)
        rows.append((f"rule {rule['rule']}", f"{verdicts[rule['ok']]}: {found}, limit {limit}"))
    rows += [("note", text) for text in summary["notes"]]
    return summary_table("Impact of another program's record", [*verdict_rows(summary), *rows])
