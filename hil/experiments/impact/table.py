"""The results of an impact trial in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hil.experiments.impact.strain import STRAIN_ROWS
from hil.experiments.summary_table import loop_rows, quantity, summary_table, verdict_rows

# name, key of the summary, unit, digits, scale
_QUANTITIES = (
    ("obstacle angle", "angle_deg", "°", 1, 1.0),
    ("impact speed", "impact_speed_mps", "mm/s", 1, 1e3),
    ("peak force, sum of sensors", "peak_force_N", "N", 1, 1.0),
    ("95 % interval, half", "peak_force_u95_N", "N", 1, 1.0),
    ("with vibration left in", "corrected_peak_force_N", "N", 1, 1.0),
    ("95 % interval, half", "corrected_peak_force_u95_N", "N", 1, 1.0),
    ("the same, of the impact itself", "impact_peak_force_N", "N", 1, 1.0),
    ("sum of the channels' peaks", "sum_of_peaks_N", "N", 1, 1.0),
    ("peak contact force, plant", "contact_force_peak_N", "N (both wheels)", 1, 1.0),
    ("T_c, twin", "effective_kinetic_energy_J", "J", 4, 1.0),
    ("T_c, plant", "effective_kinetic_energy_plant_J", "J", 4, 1.0),
    ("T_c with the ground, twin", "effective_kinetic_energy_on_ground_J", "J", 4, 1.0),
    ("T_c with the ground, plant", "effective_kinetic_energy_plant_on_ground_J", "J", 4, 1.0),
    ("load point", "load_point_m", "mm (across, up)", 1, 1e3),
    ("grouser offset at the impact", "grouser_offset_deg", "°", 1, 1.0),
    ("contact duration", "contact_duration_s", "ms", 1, 1e3),
    ("impulse", "impulse_Ns", "N s", 3, 1.0),
    ("rise time", "rise_time_s", "ms", 1, 1e3),
    ("vibration removed", "vibration_hz", "Hz", 1, 1.0),
    ("speed by twin and wheels", "impact_speed_measured_mps", "mm/s", 1, 1e3),
    ("onset at", "onset_s", "s", 4, 1.0),
    ("cut latency", "cut_latency_ms", "ms", 2, 1.0),
    ("drives cut, simulated rig", "cut_effective_ms", "ms", 2, 1.0),
    ("impact at", "impact_time_s", "s", 4, 1.0),
)
# Of a rig with instruments of motion.
_MEASURED = (
    ("standard deviation of the speed", "impact_speed_sd_mps", "mm/s", 2, 1e3),
    ("standard deviation of T_c, twin", "effective_kinetic_energy_sd_J", "J", 4, 1.0),
    ("angle of approach", "approach_angle_deg", "°", 2, 1.0),
    ("hit across, to port", "hit_across_m", "mm", 1, 1e3),
    ("height of the hit", "hit_height_m", "mm", 1, 1e3),
)


def impact_table(summary: Mapping[str, Any]) -> Table:
    """The table of a trial for the terminal, the verdict first.

    Args:
        summary: As in `summary.json`; what is null or missing shows as a dash.
    """
    measured = _MEASURED if summary.get("judged_without") is not None else ()
    quantities = (*_QUANTITIES, *measured, *(row for row in STRAIN_ROWS if row[1] in summary))
    rows = [(name, quantity(summary.get(key), unit, digits, scale)) for name, key, unit, digits, scale in quantities]
    rows += [("judged without", words) for words in summary.get("judged_without") or ()]
    return summary_table("Impact trial", [*verdict_rows(summary), *rows, *loop_rows(summary)])


def foreign_table(summary: Mapping[str, Any]) -> Table:
    """The same of an impact that another program recorded: only what its samples say, and each rule."""
    quantities = (
        *_QUANTITIES,
        ("T_c of the config's rover at its speed", "effective_kinetic_energy_nominal_J", "J", 4, 1.0),
        ("from the impact to the tick that cuts", "cut_tick_ms", "ms", 2, 1.0),
    )
    rows = [(name, quantity(summary[key], unit, digits, scale)) for name, key, unit, digits, scale in quantities
            if key in summary]  # fmt: skip
    verdicts = {True: "kept", False: "broken", None: "not judged"}
    for rule in summary["quality"]:
        found, limit = quantity(rule["value"], "", 3), quantity(rule["limit"], "", 3)
        rows.append((f"rule {rule['rule']}", f"{verdicts[rule['ok']]}: {found}, limit {limit}"))
    rows += [("note", text) for text in summary["notes"]]
    return summary_table("Impact of another program's record", [*verdict_rows(summary), *rows])
