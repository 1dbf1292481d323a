"""Drawbar pull over slip: a run for each load distribution, payload and slip (MacMahon 2016, 6.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hil.campaign.sweep import SweepRun
from hil.config import ConfigError, Problem, load_config
from hil.config.schema.traction import WeightConfig


def expand_drawbar(source: str, overrides: Sequence[str], seed: int | None) -> list[SweepRun]:
    """The runs of a series: section `drawbar` of the config, its lists `modes`, `weights` and `slips`.

    Args:
        source: of the config, as `load_config` takes it.
        overrides: of the config.
        seed: replaces that of the config; all runs have the same.

    Raises:
        ConfigError: the problems of all runs, each once.
    """
    base = load_config(source, [*overrides, "experiment=drawbar"], seed)
    weights: Sequence[WeightConfig | None] = base.drawbar.weights or (None,)
    points = [(mode, one, slip) for mode in base.drawbar.modes for one in weights for slip in base.drawbar.slips]
    runs, problems = list[SweepRun](), list[Problem]()
    for number, (mode, weight, slip) in enumerate(points, 1):
        values = {"drawbar.mode": mode, "drawbar.slip": slip}
        changes = [f"{key}={json.dumps(value)}" for key, value in (values | _payload(weight)).items()]
        try:
            config = load_config(source, [*overrides, "experiment=drawbar", *changes], seed)
        except ConfigError as error:
            problems += error.problems
            continue
        runs.append(SweepRun(number, {"mode": mode, "weight": weight.name if weight else "", "at_slip": slip}, config))
    if problems:
        raise ConfigError(source, list(dict.fromkeys(problems)), "drawbar series of config")
    return runs


def curves(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Pull over slip, a curve for each load distribution and payload, in the order of the rows.

    Args:
        rows: of the table, as `hil.campaign.sweep.run_sweep` returns them.

    Returns:
        By curve: `mode`, `weight`, and lists of its accepted points `slip`, `pull_N`, `spread`; `left_out` counts the
        others. Where the rig measures its motion, `slip_u95` and `pull_u95_N` as well, `measured`, and `true_slip` and
        `true_pull_N` of a simulated rig.
    """
    by_place: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        mode, weight = str(row["mode"]), str(row["weight"])
        empty = {"mode": mode, "weight": weight, "slip": [], "pull_N": [], "spread": [], "left_out": 0}
        curve = by_place.setdefault((mode, weight), empty)
        if not row["accepted"] or row["pull_N"] is None:
            curve["left_out"] += 1
            continue
        for key in ("slip", "pull_N", "spread"):
            curve[key].append(row[key])
        if row.get("measured") is not None:
            curve["measured"] = True  # a point that is not is left out
            for key in ("slip_u95", "pull_u95_N", "true_slip", "true_pull_N"):
                curve.setdefault(key, []).append(row.get(key))
    return list(by_place.values())


def _payload(weight: WeightConfig | None) -> dict[str, Any]:
    """Keys of the config that place a weight."""
    if weight is None:
        return {}
    return {f"rover.payload.{key}": getattr(weight, key) for key in ("mass_kg", "x_m", "y_m", "z_m")}
