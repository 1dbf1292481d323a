"""Energy balance of one impact trial, term by term, and its residue over the sub-step.

Run: python docs/figures/energy_balance.py    (a minute; writes docs/images/energy_balance.png, prints tables)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from outputs import outputs

from hil.app.run import run
from hil.config import load_config
from references.energy_balance import EnergyBalance, energy_balance

QUIET = ("trial.start_distance_m=0.08", "telemetry.endpoint=''")
SUBSTEPS_US = (100, 50, 25, 10)
LOSSES = {
    "ground_loss": "soil: compaction, shear, damping",
    "gear": "gear friction",
    "plate_friction": "friction on the plate",
    "contact_loss": "plate: contact law",
    "cut_drives": "motors of the cut drives",
}
STORED = {
    "kinetic": "kinetic",
    "potential": "potential (weight)",
    "contact": "elastic, plate and legs",
    "ground": "elastic, soil",
}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))


def balance_at(substep_us: float) -> tuple[EnergyBalance, float]:
    """The balance of the trial with this sub-step, and the time of first touch [s]."""
    config = load_config("sim_impact", [*QUIET, f"plant.substep_us={substep_us}"], seed=1)
    result = run(config)
    balance = energy_balance(config, result.ticks)
    if balance.contact_force_peak != result.summary["contact_force_peak_N"]:
        raise RuntimeError("the balance is not of this run")
    return balance, float(result.summary["impact_time_s"])


def main() -> None:
    """Print the tables, draw the figure."""
    out = outputs(__doc__)
    balance, impact_s = balance_at(100)
    t_s = balance.t_s - impact_s
    begin, end = np.searchsorted(t_s, (-0.010, 0.35))
    rows = []
    for name, label in {"drives": "work of the drives", **STORED, **LOSSES}.items():
        values = balance.term(name)
        parts = (values[begin] - values[0], values[end] - values[begin], values[-1] - values[end])
        rows.append([label, *(f"{part:+.4f}" for part in parts)])
    residue = balance.residue
    parts = (residue[begin], residue[end] - residue[begin], residue[-1] - residue[end])
    rows.append(["residue", *(f"{part:+.5f}" for part in parts)])
    head = ("term [J]", "start to touch", "the contact", "to the end")
    out.table("docs/explanation/contact.md", "energy balance", head, rows)
    largest, last = [], []
    for substep_us in out.some(SUBSTEPS_US, 1):
        finer = balance if substep_us == SUBSTEPS_US[0] else balance_at(substep_us)[0]
        largest.append(np.abs(finer.residue).max())
        last.append(abs(finer.residue[-1]))
        print(f"| {substep_us} | {largest[-1]:.2e} | {last[-1]:.2e} |")

    figure = Figure(figsize=(7.1, 6.4), layout="constrained")
    whole, impact = figure.subplots(2, 1)
    _lines(whole, t_s, balance, {"drives": "work of the drives", **LOSSES})
    whole.set(title="The whole trial: work of the drives, and where it went", ylabel="energy since the start [J]")
    inside = slice(begin, end)
    _lines(impact, t_s[inside] * 1e3, balance, {**STORED, **LOSSES}, inside)
    impact.plot(t_s[inside] * 1e3, residue[inside] - residue[begin], color="black", lw=0.8, label="residue")
    impact.set(
        title="The impact: changes of each term", ylabel="energy since touch [J]", xlabel="time after impact [ms]"
    )
    whole.set_xlabel("time after impact [s]")
    for axes in (whole, impact):
        axes.title.set_size(9)
        axes.tick_params(labelsize=8)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=2.6)
    out.picture(figure, "energy_balance.png", dpi=150)


def _lines(
    axes: Axes, t: np.ndarray, balance: EnergyBalance, terms: dict[str, str], inside: slice = slice(None)
) -> None:
    for i, (name, label) in enumerate(terms.items()):
        values = balance.term(name)[inside]
        style: Any = STYLES[(i + i // len(COLOURS)) % len(STYLES)]
        axes.plot(t, values - values[0], label=label, color=COLOURS[i % len(COLOURS)], ls=style, lw=1.4)


if __name__ == "__main__":
    main()
