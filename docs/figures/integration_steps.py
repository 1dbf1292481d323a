"""Errors of the plant's steps: each shipped simulated rig with its own, and with `plant.substep_us` throughout.

Run: python docs/figures/integration_steps.py    (half an hour; prints a table)

Both are compared with steps of 10 us, under the commands that a run with its own steps has recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from outputs import outputs
from scipy.spatial.transform import Rotation

from hil.app.run import run
from hil.config import Config, load_config
from hil.config.loading import shipped_configs
from hil.config.rig import Rig
from hil.simulator.simulated_rig import build_plant
from models.plant import Plant
from models.plant.advance import StepLengths
from references.energy_balance import command

FINE_NS = 10_000
BALANCE_EVERY = 50  # ticks
PAGE = "docs/explanation/limits.md"
TABLES = {"integration steps": False, "integration steps at an impact": True}
# An amount below this is none, as the forward speed of a rover that only turns.
NO_AMOUNT = 1e-6

Value = float | NDArray[np.float64]


class Motion(NamedTuple):
    """What a plant did under the recorded commands of a run; NaN: nothing of the kind.

    Attributes:
        load: (wheels,) mean over the run [N].
        sinkage: (wheels,) likewise [m].
        slip: (wheels,) path of the rover below that of each rim, over the latter, while the drives are powered.
            Readings are of the beginning of a step, and so of another time with another step.
        speed: mean forward speed of the base [m/s].
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


class Quantity(NamedTuple):
    """A column of the table.

    Attributes:
        name: heading.
        within: largest error wanted.
        error: of what was found, where the second is the converged motion; NaN: there is no such quantity.
        at_impact: it is a quantity of an impact.
    """

    name: str
    within: float
    error: Callable[[Motion, Motion], float]
    at_impact: bool = False


def _relative(name: str) -> Callable[[Motion, Motion], float]:
    """Largest difference over the mean amount [%]."""

    def error(found: Motion, true: Motion) -> float:
        values = np.atleast_1d(getattr(true, name))
        if not values.size or not np.isfinite(values).all() or (amount := float(np.abs(values).mean())) < NO_AMOUNT:
            return math.nan
        return 100.0 * float(np.abs(np.subtract(getattr(found, name), values)).max()) / amount

    return error


QUANTITIES = (
    Quantity("loads", 0.1, _relative("load")),
    Quantity("sinkage", 0.1, _relative("sinkage")),
    Quantity("slip", 0.1, _relative("slip")),
    Quantity("speed", 0.1, _relative("speed")),
    Quantity("T_c", 0.1, _relative("energy"), at_impact=True),
    Quantity("peak", 0.1, _relative("peak"), at_impact=True),
    Quantity("onset [ms]", 0.05, lambda found, true: abs(found.onset_ms - true.onset_ms), at_impact=True),
    Quantity("energy balance", 0.05, lambda found, _: 100.0 * found.unexplained),
)


def played(rig: Rig, ticks: NDArray[np.void], lengths: StepLengths) -> Motion:
    """The plant of a run once more, in steps of these lengths."""
    plant = plant_with(rig, lengths)
    state, chain, start = plant.scene.value.state, plant.rover.chain, plant.energies()
    load, sinkage, rim = np.zeros((3, len(plant.rover.wheel_names)))
    path = way = residue = supplied = 0.0
    cut, place, angle = True, state.q[:3].copy(), state.q[6 + chain.wheel_body]
    for i, row in enumerate(ticks):
        plant.advance(int(row["t_ns"]))
        command(plant, row, rig.layout)
        load += state.ground.vertical
        sinkage += state.ground.sinkage
        ahead = float(Rotation.from_quat(state.q[3:7]).as_matrix()[:, 0] @ (state.q[:3] - place))
        path += ahead
        if not cut:
            way += ahead
            rim += chain.wheel_radius * (state.q[6 + chain.wheel_body] - angle)
        cut, place, angle = bool(row["cut"]), state.q[:3].copy(), state.q[6 + chain.wheel_body]
        if i % BALANCE_EVERY == 0:
            now = plant.energies()
            residue = max(residue, abs(now.residue(start)))
            supplied = max(supplied, abs(now.supplied - start.supplied))
    hit, n = plant.hit_ns is not None, len(ticks)
    return Motion(
        load / n, sinkage / n, np.zeros_like(rim) if (np.abs(rim) < NO_AMOUNT).any() else 1.0 - way / rim,
        path / plant.t_ns * 1e9,
        plant.effective_kinetic_energy_when_hit() if hit else math.nan,
        plant.contact_force_peak if hit else math.nan,
        1e-6 * (plant.hit_ns or 0) if hit else math.nan,
        residue / supplied if supplied > 1e-3 else math.nan,
    )  # fmt: skip


def plant_with(rig: Rig, lengths: StepLengths) -> Plant:
    """The plant of a simulated rig with steps of these lengths, which notes its energies."""
    changed = copy(rig)
    stretch = lengths.steady // lengths.brief
    changed.simulated = replace(rig.simulated, substep_ns=lengths.brief, stretch=stretch)
    return build_plant(changed, accounts=True)


def errors_of(rig: Rig, ticks: NDArray[np.void]) -> tuple[list[float], list[float]]:
    """Error of each quantity with the rig's own steps, and with its shortest throughout."""
    own = rig.simulated.step_lengths
    true = played(rig, ticks, StepLengths(FINE_NS, FINE_NS))
    found = [played(rig, ticks, lengths) for lengths in dict.fromkeys((own, StepLengths(own.brief, own.brief)))]
    errors = [[one.error(motion, true) for one in QUANTITIES] for motion in found]
    return errors[0], errors[-1]


def tables_from(errors: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> dict[str, list[list[str]]]:
    """Rows of each table, its head and the largest errors wanted first, from the errors of each config."""
    tables = {}
    for table, at_impact in TABLES.items():
        which = [i for i, one in enumerate(QUANTITIES) if one.at_impact == at_impact]
        found = {name: [cell(i, own[i], short[i]) for i in which] for name, (own, short) in errors.items()}
        tables[table] = [
            ["config", *(QUANTITIES[i].name for i in which)],
            ["at most", *(f"{QUANTITIES[i].within:g}" for i in which)],
            *([f"`{name}`", *cells] for name, cells in found.items() if {*cells} != {"-"}),
        ]
    return tables


def cell(number: int, own: float, short: float) -> str:
    """Both errors of a quantity, in bold where the first is larger than wanted."""
    both = f"{own:.4f}/{short:.4f}"
    return "-" if math.isnan(own) else f"**{both}**" if own > QUANTITIES[number].within else both


def beyond(rows: Sequence[Sequence[str]]) -> list[str]:
    """Config and quantity of each error of own steps above what the second row allows; the first is the head."""
    head, allowed, *rest = rows
    return [
        f"{row[0]} {name}"
        for row in rest
        for name, most, both in zip(head[1:], allowed[1:], row[1:], strict=True)
        if both != "-" and float(both.strip("*").partition("/")[0]) > float(most)
    ]


def has_rover(config: Config) -> bool:
    """Whether it is a simulated rover in lockstep; a space arm has its own plant, and no long steps."""
    return config.rig == "simulated" and bool(config.layout.wheels)


def main() -> None:
    """Print the tables."""
    out, errors = outputs(__doc__), {}
    configs = {name: load_config(name) for name in shipped_configs()}
    rovers = [name for name, one in configs.items() if has_rover(one)]
    # the first has an impact
    for name in out.some(sorted(rovers, key=lambda one: configs[one].experiment != "impact"), 1):
        config = load_config(name, ["telemetry.endpoint=''"], seed=1)
        errors[name] = errors_of(Rig(config), run(config).ticks)
        print(name, *errors[name], flush=True)
    for table, (head, *rows) in tables_from(errors).items():
        out.table(PAGE, table, head, rows)


if __name__ == "__main__":
    main()
