"""The results of a jog: its part of summary.json, and the table in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from hil.config import Config
from hil.experiments.base import Finished, Summary
from hil.experiments.jog.experiment import JogExperiment, State, wheel_speeds
from hil.experiments.summary import common_reasons
from hil.messages.layout import Layout


def jog_summary(run: Finished) -> Summary:
    """Keys as docs/reference/summary.md lists them; None for values that were not measured."""
    jog = run.experiment
    assert isinstance(jog, JogExperiment)
    reasons = common_reasons(jog, run.cycle.safety, run.beside)
    if jog.touched:
        reasons.append("ended early: the force sensors detected an impact")
    return {
        "motion": what_moves(run.config),
        **what_moved(run.ticks, run.config.layout, run.config.rover.wheel_radius_m),
        "accepted": jog.done and not reasons,
        "reasons": reasons,
    }


def what_moves(config: Config) -> str:
    """The parts that move, and for how long."""
    radius_m = config.rover.wheel_radius_m
    speeds = zip(config.layout.wheels, wheel_speeds(config), strict=True)
    parts = [f"{name} at {speed * radius_m:g} m/s" for name, speed in speeds if speed]
    if config.jog.valve:
        parts.append(f"valve {config.jog.valve.replace('_', ' ')}")
    return f"{', '.join(parts)} for {config.jog.seconds:g} s"


def what_moved(ticks: NDArray[np.void], layout: Layout, radius_m: float) -> dict[str, Any]:
    """Rim speed of each wheel, mean over the second half of the motion [m/s]; largest pressures in that half [kPa].

    Args:
        ticks: rows of `/tick`.
        layout: of the rig.
        radius_m: of the wheels [m].

    Returns:
        The values by key; None for values that were not measured.
    """
    moving = ticks[ticks["state"] == State.MOVE]
    speeds = moving["wheel_speed_radps"][len(moving) // 2 :] * radius_m
    pressures = moving["pressure_Pa"] if layout.cylinders else np.zeros((len(moving), 0, 2))
    by_valve = layout.by_valve(list(pressures.transpose(1, 2, 0) * 1e-3))
    return {
        "speed_reached_mps": dict(zip(layout.wheels, (_known(wheel, np.mean) for wheel in speeds.T), strict=True)),
        "pressure_reached_kPa": dict(zip(layout.valves, (_known(one, np.max) for one in by_valve), strict=True)),
    }


def jog_table(summary: Mapping[str, Any]) -> Table:
    """The speeds and pressures reached, and the problems."""
    table = Table(title=f"Moved: {summary['motion']}", title_justify="left", show_header=False)
    for key, unit, digits in (("speed_reached_mps", "m/s", 3), ("pressure_reached_kPa", "kPa", 1)):
        for name, value in summary[key].items():
            reached = "not measured" if value is None else f"{value:+.{digits}f} {unit}"
            table.add_row(Text(name.replace("_", " ")), Text(reached))
    fault_mailboxes = "\n".join(summary["reasons"])
    table.add_row(Text("trouble"), Text(fault_mailboxes, "bold red") if fault_mailboxes else Text("none", "green"))
    return table


def _known(values: NDArray[np.float64], of: Callable[[NDArray[np.float64]], Any]) -> float | None:
    return float(of(values)) if values.size and np.isfinite(values).all() else None
