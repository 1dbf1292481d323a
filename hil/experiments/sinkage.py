"""Sinkage under one load: the drives hold the wheels still while loads and sinkage are measured."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.experiments import SinkageConfig
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary import FieldMeans, finite
from hil.experiments.throttle import LOADS
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording.content import in_blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hil.recording import OpenRecord


# State of a sinkage test; numbers as for those of the traction experiments.
_SinkageState = IntEnum("_SinkageState", {"IDLE": 0, "ARMED": 1, "DONE": 5, "ABORTED": 6, "SETTLE": 7, "MEASURE": 8})
IDLE, ARMED, DONE, ABORTED, SETTLE, MEASURE = _SinkageState  # faster in a tick, see hil.experiments.base


class SinkageExperiment(Experiment):
    """Idle until armed, then a time to settle and the measurement, the wheels held still."""

    name = "sinkage"
    section = SinkageConfig
    states = _SinkageState
    figure = "sinkage.png"
    results = LOADS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        section = self.config.sinkage
        self._pass_through({SETTLE: round(section.settle_s * 1e9), MEASURE: round(section.measure_s * 1e9)})
        self._zeros = rig.layout.zero_speeds

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        self._advance(samples, estimate, safe)
        return Goal(self.state, self.state not in (SETTLE, MEASURE), speed_radps=self._zeros)

    def summarise(self, run: FinishedRun) -> Summary:
        """Loads and sinkage."""
        layout, known = run.config.layout, run.ground_truth.traction
        field = "wheel_load_N" if layout.leg_sensors else "normal_force_N"
        means = FieldMeans({field: 0})
        for rows in in_blocks(run.ticks):
            means.add(rows[rows["state"] == MEASURE])
        loads = means.mean(field) if means.count else np.full(len(layout.wheels), np.nan)
        return {
            "wheels": list(layout.wheels),
            "load_N": [finite(float(load)) for load in loads],
            "load_from": "leg sensors" if layout.leg_sensors else "twin",
            "sinkage_m": finite(known.sinkage) if known else None,
            "sinkage_from": "simulated rig" if known else None,
            **self.verdict(run),
        }

    @classmethod
    def label(cls, config: Config) -> str:
        """The payload."""
        return f"{cls.name}_{config.rover.payload.mass_kg:g}kg"

    @classmethod
    def plot(cls, record: OpenRecord, summary: Summary, run: str, form: FigureForm) -> Figure:
        """The run over time."""
        from hil.experiments.drive import plot_over_time  # matplotlib takes half a second to import

        sunk = summary.get("sinkage_m")
        return plot_over_time(
            record, summary, run, form, f"Sinkage{'' if sunk is None else f' {1e3 * sunk:.2f} mm'} at rest"
        )
