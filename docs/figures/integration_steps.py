"""Errors of the plant's steps: each shipped simulated rover as it is, and with steps of 10 us throughout.

Run: python docs/figures/integration_steps.py    (half an hour; prints a table)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from outputs import outputs

from hil.app.run import run
from hil.config import Config, load_config
from hil.config.loading import shipped_configs
from hil.config.rig import Rig
from models.plant import Plant
from references.energy_balance import command

FINE_NS = 10_000
BALANCE_EVERY = 50  # ticks


class Motion(NamedTuple):
    """What a plant did under the recorded commands of a run.

    Attributes:
        load: (wheels,) mean over the run [N].
        sinkage: (wheels,) likewise [m].
        slip: (wheels,) likewise, while the drives are powered.
        speed: mean forward speed [m/s].
        energy: T_c at first touch [J].
        peak: largest force on the obstacle [N].
        onset_ms: first touch.
        unexplained: largest residue of the energy balance, over all work that was put in.
    """

    load: NDArray[np.float64]
    sinkage: NDArray[np.float64]
    slip: NDArray[np.float64]
    speed: float
    energy: float
    peak: float
    onset_ms: float
    unexplained: float


def played(config: Config, ticks: NDArray[np.void], *, fine: bool) -> Motion:
    """The plant of a run once more, with its own steps or fine ones."""
    parameters = Rig(config).simulated
    if fine:
        parameters = replace(parameters, substep_ns=FINE_NS, stretch=1)
    plant = Plant(parameters, np.random.default_rng(0), accounts=True)
    state, start = plant.scene.value.state, plant.energies()
    powered, wheels = 0, len(plant.rover.wheel_names)
    load, sinkage, slip, speed = np.zeros(wheels), np.zeros(wheels), np.zeros(wheels), 0.0
    residue = supplied = 0.0
    for i, row in enumerate(ticks):
        plant.advance(int(row["t_ns"]))
        command(plant, row, config.layout)
        load += state.ground.vertical
        sinkage += state.ground.sinkage
        speed += state.v[0]
        if not row["cut"]:
            powered += 1
            slip += state.ground.slip
        if i % BALANCE_EVERY == 0:
            now = plant.energies()
            residue = max(residue, abs(now.residue(start)))
            supplied = max(supplied, abs(now.supplied - start.supplied))
    touched, n = plant.hit_ns is not None, len(ticks)
    return Motion(
        load / n, sinkage / n, slip / max(powered, 1), speed / n,
        plant.effective_kinetic_energy_when_hit() if touched else math.nan,
        plant.contact_force_peak if touched else math.nan,
        1e-6 * (plant.hit_ns or 0) if touched else math.nan,
        residue / supplied if supplied > 1e-3 else math.nan,
    )  # fmt: skip


def off(found: float | NDArray[np.float64], true: float | NDArray[np.float64]) -> str:
    """Largest difference over the mean amount [%]; "-": there is no such quantity."""
    if np.size(true) == 0 or not np.isfinite(true).all() or (amount := float(np.abs(true).mean())) < 1e-6:
        return "-"
    return f"{100.0 * float(np.abs(np.subtract(found, true)).max()) / amount:.4f}"


def has_rover(config: Config) -> bool:
    """Whether it is a simulated rover; a space arm has its own plant, and no long steps."""
    return config.rig == "simulated" and bool(config.layout.wheels)


def row_of(name: str) -> list[str]:
    """Errors of a config."""
    config = load_config(name, ["telemetry.endpoint=''"], seed=1)
    ticks = run(config).ticks
    found, true = played(config, ticks, fine=False), played(config, ticks, fine=True)
    errors = [off(getattr(found, name), getattr(true, name)) for name in Motion._fields[:6]]
    onset = found.onset_ms - true.onset_ms
    ends = ["-" if math.isnan(onset) else f"{onset:+.3f}"]
    ends.append("-" if math.isnan(found.unexplained) else f"{100.0 * found.unexplained:.4f}")
    return [f"`{name}`", *errors, *ends]


def main() -> None:
    """Print the table."""
    out, rows = outputs(__doc__), []
    simulated = [name for name in shipped_configs() if has_rover(load_config(name))]
    for name in out.some(simulated, 1):
        rows.append(row_of(name))
        print(rows[-1], flush=True)
    head = ("config", "loads", "sinkage", "slip", "speed", "T_c", "peak", "onset [ms]", "energy balance")
    out.table("docs/explanation/limits.md", "integration steps", head, rows)


if __name__ == "__main__":
    main()
