"""A run cut where the wanted loads change, and the loads of each of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config.schema.normal_force import NormalForceConfig
from hil.experiments.drive.experiment import DRIVE
from hil.messages.loads import LoadGoal, LoadMode, load_goal, load_modes
from hil.messages.operator_input import SetLoads, command_of, is_command
from hil.recording.content import Recorded

Rows = NDArray[np.void]
FloatArray = NDArray[np.floating[Any]]


class Segment(NamedTuple):
    """A part of a run with one wanted distribution."""

    begin_s: float  #: time of the run [s]
    end_s: float  #: likewise
    goal: LoadGoal  #: wanted in it

    @property
    def half_s(self) -> float:
        """From here on its loads are averaged."""
        return 0.5 * (self.begin_s + self.end_s)


class Loads(NamedTuple):
    """Wheel loads over time, and where they are from."""

    source: str  #: ground_truth, sensors or twin
    t_s: FloatArray  #: (n,) end of what each row is the mean of, or its time [s]
    load_N: FloatArray  #: (n, wheels)
    torque_Nm: FloatArray  #: (n, cylinders)


def goal_of(command: SetLoads, wheels: Sequence[str], ground: str) -> LoadGoal:
    """The goal that an operator sets on a ground of that kind.

    Raises ValueError: it is none for this rover, or not on this ground: it changes nothing.
    """
    if LoadMode[command.mode.upper()] not in load_modes(ground):
        raise ValueError(
            f"mode: {command.mode} on {ground} ground, allowed: on soil, where the pull of a wheel is known"
        )
    return load_goal(command.mode, command.share, command.wheel, wheels)


def segments(
    section: NormalForceConfig, wheels: Sequence[str], ground: str, ticks: Recorded, events: Rows
) -> list[Segment]:
    """The steps of the config, cut where an operator changed the wanted loads; none of a run that never drove."""
    moving = ticks["t_ns"][ticks["state"] == DRIVE] * 1e-9
    if not moving.size:
        return []
    begin_s = float(moving[0])
    changes: list[tuple[float, LoadGoal]] = []
    for step in section.steps:
        changes.append((begin_s, load_goal(step.mode, step.share, step.wheel, wheels)))
        begin_s += step.for_s
    for event in events[[is_command(event) for event in events]]:
        command, t_s = command_of(event), float(event["t_ns"]) * 1e-9
        if isinstance(command, SetLoads) and moving[0] <= t_s <= moving[-1]:
            try:
                changes.append((t_s, goal_of(command, wheels, ground)))
            except ValueError:  # it changed nothing
                continue
    changes = sorted((change for change in changes if change[0] <= moving[-1]), key=lambda change: change[0])
    ends_s = [*(t_s for t_s, _ in changes[1:]), float(moving[-1])]
    return [Segment(t_s, end_s, goal) for (t_s, goal), end_s in zip(changes, ends_s, strict=True) if end_s > t_s]


def switched_on(parts: list[Segment]) -> int | None:
    """Number of the first part that is not passive; None: there is none."""
    return next((number for number, part in enumerate(parts) if part.goal.mode != LoadMode.PASSIVE), None)


def loads_of(ticks: Recorded, ground_truth: FloatArray | None) -> list[Loads]:
    """Wheel loads by all who know them, the best source first.

    Args:
        ticks: of the record.
        ground_truth: rows of `models.plant.load_history.LoadHistory`; None: of a real rig.
    """
    found, t_s, names = [], ticks["t_ns"] * 1e-9, ticks.dtype.names or ()
    wheels = ticks["normal_force_N"].shape[1]
    if ground_truth is not None and len(ground_truth):
        rows = ground_truth
        found.append(Loads("ground_truth", rows[:, 0], rows[:, 1 : 1 + wheels], rows[:, 1 + wheels :]))
    torque_Nm = ticks["cylinder_torque_Nm"]
    if "wheel_load_N" in names:
        found.append(Loads("sensors", t_s, ticks["wheel_load_N"], torque_Nm))
    return [*found, Loads("twin", t_s, ticks["normal_force_N"], torque_Nm)]
