"""A plan of activities: drives and stays, and the battery that they draw from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from drivers.section import Listed, Section
from hil.campaign.plan import read_plan, shipped_plans
from hil.config import Problem

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_PLACE = Annotated[float, Field(ge=-10_000, le=10_000)]


class _Battery(Section):
    """The battery."""

    capacity_Wh: float = Field(gt=0, le=1e6, description="what a full battery gives")
    start_share: float = Field(1.0, ge=0, le=1, description="state of charge at the start")
    least_share: float = Field(0.0, ge=0, le=1, description="below this state of charge the plan is not feasible")


class Activity(Section):
    """A drive to a place, or a stay; one of `to_m` and `for_s`."""

    name: str = Field(pattern=_NAME, max_length=64, description="of the activity")
    to_m: tuple[_PLACE, _PLACE] | None = Field(
        None, strict=False, description="a drive: x ahead of the rover's start and y to port of it; null: a stay"
    )
    speed_mps: float = Field(0.1, gt=0, le=2, description="of the rims in a drive")
    for_s: float | None = Field(None, gt=0, le=1e6, description="duration of a stay [s]")
    load_W: float = Field(0.0, ge=0, le=1e5, description="what its instruments draw, beside `always_W`")
    supply_W: float = Field(0.0, ge=0, le=1e5, description="what solar panels give meanwhile")


class ActivityPlan(Section):
    """Activities, one after the other."""

    name: str = Field(pattern=_NAME, max_length=64, description="name of the plan")
    battery: _Battery = Field(description="what all is drawn from")
    always_W: float = Field(0.0, ge=0, le=1e5, description="what computer, heaters and radio draw all the time")
    motor_efficiency: float = Field(
        gt=0,
        le=1,
        description="work at the axles, friction of the gears included, over what amplifiers and motors draw",
    )
    activities: Listed[Activity] = Field(min_length=1, max_length=1000, description="in order")


def load_activity_plan(source: str | Path) -> ActivityPlan:
    """Read and check a plan of activities.

    Args:
        source: path of a YAML file, or the name of a shipped one of `rig_configs/activities/`.

    Raises:
        ConfigError: with all problems at once.
    """
    return read_plan(source, shipped_plans("activities"), ActivityPlan, _cross_checks)


def _cross_checks(plan: ActivityPlan) -> list[Problem]:
    problems = [
        Problem(
            f"activities.{place}", "to_m and for_s" if one.to_m else "neither to_m nor for_s", "one of to_m and for_s"
        )
        for place, one in enumerate(plan.activities)
        if (one.to_m is None) == (one.for_s is None)
    ]
    names = [one.name for one in plan.activities]
    problems += [
        Problem(f"activities.{place}.name", f"{name} again", "each name once")
        for place, name in enumerate(names)
        if name in names[:place]
    ]
    if plan.battery.start_share < plan.battery.least_share:
        allowed = f"{plan.battery.least_share:g} (battery.least_share) to 1"
        problems.append(Problem("battery.start_share", f"{plan.battery.start_share:g}", allowed))
    return problems
