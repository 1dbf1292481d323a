"""Tables of docs/how-to/sensitivity-and-design.md: what the peak force depends on, and the hardest hit of an energy.

Run: python docs/figures/design_study.py    (five minutes)
"""

from __future__ import annotations

from outputs import Outputs, outputs

import hil

PAGE = "docs/how-to/sensitivity-and-design.md"
KEYS = ("trial.speed_mps", "trial.angle_deg", "rover.added_mass_kg", "soil.stiffness")
OVER = {"trial.angle_deg": (40.0, 90.0), "trial.speed_mps": (0.04, 0.1)}
FORCE, ENERGY = "contact_force_peak_N", "effective_kinetic_energy_J < 0.2"
FIRM = {"ground.kind": "firm", "telemetry.endpoint": ""}
SHORT = {**FIRM, "trial.start_distance_m": 0.05}


def depends(out: Outputs) -> None:
    """Derivative and elasticity of the peak force by each key, with half of their 95 % intervals."""
    config = hil.load("sim_impact", SHORT if out.quick else FIRM)
    found = hil.sensitivity(config, out.some(KEYS, 1), FORCE, repeats=2 if out.quick else 5)
    rows = []
    for row in found.rows:
        cells = [f"{row['key']}, {row['low']:.4g} to {row['high']:.4g}"]
        for name in ("derivative", "elasticity"):
            cells.append(f"{row[name]:.3g} ± {row[f'{name}_u95']:.2g}")
        rows.append([*cells, "yes" if row["told_from_0"] else "no"])
    out.table(PAGE, "derivatives", ("key", "derivative", "elasticity", "told from 0"), rows)


def hardest(out: Outputs) -> None:
    """The most peak force within an energy."""
    config, over = hil.load("sim_impact", SHORT), dict(out.some(list(OVER.items()), 1))
    found = hil.optimise(config, over, most=FORCE, where=ENERGY, evaluations=24 if out.quick else 60)
    rows = []
    for row in found.rows:
        around = ["-" if row[end] is None else f"{row[end]:.1f} N" for end in ("at_below", "at_above")]
        flat = "yes" if row["flat"] else "no"
        rows.append([row["key"], f"{row['best']:.4g}", f"{row['low']:g} to {row['high']:g}", ", ".join(around), flat])
    head = ("key", "best", "range", "force 5 % of the range lower, higher", "within the scatter")
    out.table(PAGE, "best", head, rows)
    one = found.found
    runs = f"{one['evaluations']} runs, {one['not_accepted']} not accepted, {one['condition_not_met']} outside"
    line = f"{one['value']:.1f} N, scatter over {one['seeds_fit']} seeds {one['scatter']:.1f} N; {runs} the condition"
    out.put(PAGE, "force", line)


if __name__ == "__main__":
    options = outputs(__doc__)
    depends(options)
    hardest(options)
