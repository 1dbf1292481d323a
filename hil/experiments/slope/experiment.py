"""Climbing one slope: the throttle of the config, and whether the slip stays within its limit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scipy.optimize import brentq

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.traction import SlopeConfig
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.drawing import FigureForm
from hil.experiments.summary import measurement_reasons
from hil.experiments.summary_table import SummaryKey
from hil.experiments.throttle import RESULTS, ThrottleExperiment, traction_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hil.recording import OpenRecord


class SlopeExperiment(ThrottleExperiment):
    """One slope."""

    name = "slope"
    section = SlopeConfig
    figure = "slope.png"
    results = (SummaryKey("climbed", "the slip was at most `slope.slip_limit`", "climbed"), *RESULTS)

    def headline(self) -> str:
        """Slope and distribution."""
        return f"slope of {self.config.ground.pitch_deg:g} degrees, wheel loads {self.config.slope.mode}"

    @classmethod
    def label(cls, config: Config) -> str:
        """Distribution and slope."""
        return f"{config.slope.mode}_{config.ground.pitch_deg:g}"

    def drive_speeds_mps(self) -> Sequence[float]:
        """The throttle's."""
        return (self.config.slope.speed_mps,)

    def summarise(self, run: FinishedRun) -> Summary:
        """Slip and loads, and whether it climbs."""
        found = traction_of(run, run.config.slope)
        climbed = self.done and found["slip"] is not None and found["slip"] <= run.config.slope.slip_limit
        return {**found, "climbed": climbed, **self.verdict(run, measurement_reasons(found))}

    @classmethod
    def plot(cls, record: OpenRecord, summary: Summary, run: str, form: FigureForm) -> Figure:
        """The run over time."""
        from hil.experiments.drive.figure import plot_over_time  # matplotlib takes half a second to import

        climbed = "climbed" if summary.get("climbed") else "not climbed"
        title = (
            f"Slope of {summary.get('pitch_deg') or 0.0:g} degrees, {climbed}, slip {summary.get('slip') or 0.0:.3f}"
        )
        return plot_over_time(record, summary, run, form, title)


_STEEPEST_DEG = 59.0


def limit_at_even_loads_deg(rig: Rig) -> float | None:
    """Slope on which the wheels' pull at `slope.slip_limit` just carries the weight along it [deg]; None: none does.

    Each wheel has the same load m g cos(slope) / wheels, and the pull of models.wheel at that load (Petersen 2012
    (4.30)-(4.32)), less that of the drawbar. A rover of other loads pulls less on soil whose compaction resistance is
    convex in the load.
    """
    rover, _, _ = rig.nominal.assemble()
    each = Counter(rig.nominal.ground.wheel_of(mount) for mount in rover.tree.wheels)
    slip = rig.config.slope.slip_limit

    def surplus(slope: float) -> float:
        load, pull = rig.weight_N * math.cos(slope) / len(rover.wheel_names), rig.nominal.drawbar.force[0]
        for wheel, count in each.items():
            sinkage = brentq(lambda z, wheel=wheel: float(wheel.forces(z, slip)[1]) - load, 1e-9, 0.8 * wheel.radius)
            pull += float(count * wheel.forces(sinkage, slip)[0])
        return pull - rig.weight_N * math.sin(slope)

    if surplus(0.0) <= 0.0:
        return None
    return math.degrees(float(brentq(surplus, 0.0, math.radians(_STEEPEST_DEG))))
