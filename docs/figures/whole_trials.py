"""Tables of whole trials: peaks over T_c on each ground, impacts with weight on the plate, and what each rule finds.

Run: python docs/figures/whole_trials.py    (four minutes)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from outputs import Outputs, outputs

from hil.app.run import RunResult, run
from hil.config import load_config

CONTACT, WRONG = "docs/explanation/contact.md", "docs/explanation/trials-that-go-wrong.md"
ANGLES = (40, 50, 60, 70, 80, 90)
STIFF = ("obstacle.leg_stiffness_Npm=5.5e7", "plant.substep_us=20", "obstacle.friction=0", "limits.sensor_force_N=null")
# Ground, settings, seeds, and which T_c is shown: without the ground's constraints, with them.
GROUNDS: tuple[tuple[str, tuple[str, ...], tuple[int, ...], tuple[str, ...]], ...] = (
    ("no ground", ("ground.kind=none",), (1, 2, 3), ("without",)),
    ("soil", ("ground.kind=soil",), (1, 2, 3), ("without", "with ground")),
    ("firm", ("ground.kind=firm",), (1, 2, 3), ("without", "with ground")),
    (
        "rigid, legs 1000 times as stiff, no friction on the plate", ("ground.kind=rigid", *STIFF), (1,),
        ("without", "with ground"),
    ),
)  # fmt: skip
ENERGIES = {"without": "effective_kinetic_energy_plant_J", "with ground": "effective_kinetic_energy_plant_on_ground_J"}
SHALLOW = (10, 20, 30, 40, 60)
NEAR = ("trial.start_distance_m=0.1", "trial.ramp_s=0.3", "trial.settle_s=1.2", "record.after_s=1")
SLIP = ("trial.angle_deg=40", "trial.release=operator")
GROUSERS = ("wheel.grousers=22", "wheel.grouser_offset_deg=-3", "trial.release_delay_s=0.5")


def plate(snap_share: int) -> str:
    """A plate whose lower edge a wheel slips off."""
    return f"obstacle.plate={{centre_up_m: 0.262, snap_share: {snap_share}}}"


# Rule, keys as the page names them, settings, and what the value is shown in: unit and factor.
RULES: tuple[tuple[str, str, tuple[str, ...], str, float], ...] = (
    (
        "first_hit", "`obstacle.plate={} plant.veer.across_m=-0.2`",
        ("obstacle.plate={}", "plant.veer.across_m=-0.2"), "", 1.0,
    ),
    (
        "contact_ended", "`trial.angle_deg=15 trial.speed_mps=0.03 trial.release=operator trial.release_delay_s=1.5`",
        ("trial.angle_deg=15", "trial.speed_mps=0.03", "trial.release=operator", "trial.release_delay_s=1.5"), "", 1.0,
    ),
    ("contact_s", "`trial.angle_deg=20`", ("trial.angle_deg=20", "trial.settle_s=2"), " s", 1.0),
    (
        "weight",
        "slip, `wheel.grousers=22 wheel.grouser_offset_deg=-3 trial.release_delay_s=0.5`, `snap_share: 0`",
        (*SLIP, *GROUSERS, plate(0)), "", 1.0,
    ),
    ("snap_back", "the same, `snap_share: 1`", (*SLIP, *GROUSERS, plate(1)), "", 1.0),
    (
        "double_hit", "slip, `wheel.grousers=12 trial.release_delay_s=0.8`, `snap_share: 0`",
        (*SLIP, "wheel.grousers=12", "trial.release_delay_s=0.8", plate(0)), "", 1.0,
    ),
    ("saturated", "`daq.channels.0.fault=saturated`", ("daq.channels.0.fault=saturated",), "", 1.0),
    (
        "speed", "`trial.ramp_s=2.8 plant.spread.start_m=0.04`: placed too near, hits before its full speed",
        ("trial.ramp_s=2.8", "plant.spread.start_m=0.04"), "", 1.0,
    ),
    (
        "cut_late", "`links.daq_delay_ms=60 limits.daq_age_ms=100`",
        ("links.daq_delay_ms=60", "limits.daq_age_ms=100"), " ms", 1.0,
    ),
    ("droop", "`plant.spread.droop=0.2`", ("plant.spread.droop=0.2",), "", 1.0),
    ("sensor_dead", "`daq.channels.0.fault=dead`", ("daq.channels.0.fault=dead",), "", 1.0),
    ("veer", "`plant.veer.heading_deg=3`", ("plant.veer.heading_deg=3",), " mm", 1e3),
    (
        "approach", "`motion={} plant.veer.heading_deg=0.5`", ("motion={}", "plant.veer.heading_deg=0.5"), " deg", 1.0,
    ),
)  # fmt: skip
AT_LEAST = ("first_hit", "sensor_dead")  # their limit is a lower one


def trial(*keys: str, seed: int = 1) -> RunResult:
    """A trial of sim_impact with these values."""
    return run(load_config("sim_impact", ["telemetry.endpoint=''", *keys], seed=seed))


def grounds(out: Outputs) -> None:
    """Peak force of both wheels, and over the root of each T_c."""
    rows = []
    for name, keys, seeds, energies in out.some(GROUNDS, 1):
        forces: list[float] = []
        ratios: dict[str, list[float]] = {energy: [] for energy in energies}
        for angle in ANGLES:
            given = (*keys, f"trial.angle_deg={angle}")
            found = [trial(*given, seed=seed).summary for seed in out.some(seeds, 1)]
            forces.append(float(np.mean([one["contact_force_peak_N"] for one in found])))
            for energy in energies:
                roots = [one["contact_force_peak_N"] / np.sqrt(one[ENERGIES[energy]]) for one in found]
                ratios[energy].append(float(np.mean(roots)))
        rows.append([f"{name}: force", *(f"{force:.0f}" for force in forces), ""])
        for energy, values in ratios.items():
            apart = max(values[2:]) / min(values[2:])
            rows.append([f"over the root of T_c {energy}", *(f"{value:.0f}" for value in values), f"{apart:.2f}"])
    head = ("angle", *(f"{angle}" for angle in ANGLES), "largest over smallest, 60 to 90")
    out.table(CONTACT, "peaks over T_c", head, rows)


def after_the_peak(times_s: np.ndarray, force_N: np.ndarray) -> str:
    """The first least force after the impact's own peak from which it rises by 1 N, and the largest 0.1 s later."""
    begin = int(np.argmax(np.where(times_s < 0.08, force_N, 0.0)))
    lowest = np.minimum.accumulate(force_N[begin:])
    rising = int(np.argmax(force_N[begin:] > lowest + 1.0))
    least = begin + int(np.argmin(force_N[begin : begin + rising + 1]))
    later = (times_s > times_s[least]) & (times_s < times_s[least] + 0.1)
    return f"{force_N[least]:.0f}; {force_N[later].max():.0f}"


def humps(out: Outputs) -> None:
    """Sum of the sensors of shallow impacts, cut in the tick of detection."""
    peaks, troughs, contacts = [], [], []
    for angle in out.some(SHALLOW):
        result = trial(f"trial.angle_deg={angle}", "trial.settle_s=3", "record.after_s=3")
        times_s = result.ticks["t_ns"] * 1e-9 - result.summary["impact_time_s"]
        force_N = np.where(times_s < 0.0, 0.0, result.ticks["force_sum_N"])
        peaks.append(f"{force_N[times_s < 0.04].max():.0f}")
        contact_s = result.summary["contact_duration_s"]
        contacts.append("does not end" if contact_s is None else f"{contact_s:.2f}")
        over = contact_s is not None and contact_s < 0.3
        troughs.append("contact is over" if over else after_the_peak(times_s, force_N))
    head = ("angle [deg]", *(f"{angle}" for angle in out.some(SHALLOW)))
    rows = [
        ["peak of the impact, 40 ms after its first sample [N]", *peaks],
        ["least force after it; hump up to 0.1 s later [N]", *troughs],
        ["contact [s]", *contacts],
    ]
    out.table(CONTACT, "humps", head, rows)


def refused_by(summary: dict[str, Any]) -> Sequence[str]:
    """Names of the rules that refuse a trial."""
    return [row["rule"] for row in summary["quality"] if row["ok"] is False]


def rules(out: Outputs) -> None:
    """A trial that breaks each rule."""
    rows = []
    for rule, keys, settings, unit, factor in out.some(RULES, 1):
        summary = trial(*NEAR, *settings).summary
        (found,) = (row for row in summary["quality"] if row["rule"] == rule)
        others = ", ".join(f"`{one}`" for one in refused_by(summary) if one != rule)
        limit = f"{'at least ' if rule in AT_LEAST else ''}{factor * found['limit']:g}{unit}"
        rows.append([f"`{rule}`", keys, f"{factor * found['value']:.3g}{unit}", limit, others])
    out.table(WRONG, "rules", ("rule", "keys", "value", "limit", "also refused by"), rows)


if __name__ == "__main__":
    options = outputs(__doc__)
    grounds(options)
    humps(options)
    rules(options)
