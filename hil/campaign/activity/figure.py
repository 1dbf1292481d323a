"""Power and state of charge over the time of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.campaign.activity.simulate import ActivityPlan, ActivityResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(plan: ActivityPlan, result: ActivityResult) -> Figure:
    """Two panels over the time; the activities are shaded in turn."""
    from matplotlib.figure import Figure

    figure = Figure((8.0, 5.0))
    above, below = figure.subplots(2, 1, sharex=True)
    hours = result.rows[:, 0] / 3600.0
    # a row has the powers of the time before it
    above.step(hours, result.rows[:, 1], where="pre", color="#bb5566", label="drawn")
    above.step(hours, result.rows[:, 2], where="pre", color="#ddaa33", label="supplied")
    above.set_ylabel("power [W]")
    above.set_yscale("symlog", linthresh=10.0)
    above.legend(fontsize=8)
    below.plot(hours, 100.0 * result.rows[:, 3], color="#004488")
    below.axhline(100.0 * plan.battery.least_share, color="#555555", linewidth=0.8, linestyle="--")
    below.set_ylabel("state of charge [%]")
    below.set_xlabel("time [h]")
    for number, phase in enumerate(result.phases):
        for axes in (above, below):
            axes.axvspan(
                phase.from_s / 3600.0, phase.to_s / 3600.0, color="#000000", alpha=0.04 if number % 2 else 0.1, lw=0
            )
    figure.tight_layout()
    return figure
