"""The section of the experiment stimulus: wheel speeds, angles of driven joints and valves over time, from a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from pydantic import field_validator

from hil.config.files import ALL_WHEELS, MOST_CHARACTERS, TIME, StimulusTable, read_table
from hil.config.problems import Problem
from hil.config.schema.base import key
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from hil.config.schema.servos import DrivenJoint
from hil.messages.layout import Layout

_KEY = "stimulus.table"
# Part of the acceleration limit that a table may take: a loop that lost ticks can catch up before the limiter clamps.
OF_ACCELERATION = 0.5
# The same of the rate of a driven joint, and how far a table may begin from where the joint is [deg].
OF_RATE, BEGINS_WITHIN_DEG = 0.9, 0.01


class StimulusConfig(ExperimentSection):
    """Set-points over time from a table: speeds of the rims, angles of driven joints, and valves."""

    between_runs = ("interpolation",)

    table: str = key(
        "time_s,speed_mps\n0,0\n1,0.05\n4,0.05\n5,0\n",
        "columns time_s [s]; speed_mps, of all rims, or NAME_mps, of a wheel's [m/s]; JOINT_deg, of a "
        "driven joint, or of all of a kind, as walking_deg; JOINT_mm, of one that slides; CYLINDER_extend and "
        "CYLINDER_retract, 1: powered",
        max_length=MOST_CHARACTERS,
        note="CSV text with a header, or the path of a CSV file, seen from the config's folder; the wheels "
        "stand in its first and last row",
    )
    interpolation: Literal["linear", "held"] = key(
        "linear",
        "speeds and angles between two rows: on a straight line; or held until the next row, and then "
        "reached by a ramp of half limits.wheel_acceleration_radps2, or half the joint's rate. Valves are always held",
    )

    @field_validator("table")
    @classmethod
    def _is_a_table(cls, text: str) -> str:
        read_table(text)
        return text

    @property
    def content(self) -> StimulusTable:
        """The table as numbers."""
        return read_table(self.table)

    @property
    def length_s(self) -> float:
        """How long it lasts."""
        return self.content.times_s[-1]

    def speeds_mps(self, layout: Layout) -> list[tuple[float, ...]]:
        """Speeds of the rims at each row, by wheel; empty: the table has no speeds, and the drives stay cut."""
        columns = self.content.columns
        zeros = (0.0,) * len(self.content.times_s)
        named = [columns.get(f"{wheel}_mps", columns.get(ALL_WHEELS)) for wheel in layout.wheels]
        return list(zip(*(column or zeros for column in named), strict=True)) if any(named) else []

    def angles_rad(self, joints: Sequence[DrivenJoint]) -> list[tuple[float, ...]]:
        """Angles of the driven joints at each row; empty: the table has none, and they hold their start."""
        columns, count = self.content.columns, len(self.content.times_s)
        named = [columns.get(f"{one.name}_{one.unit}", columns.get(f"{_kind(one.name)}_{one.unit}")) for one in joints]
        if not any(named):
            return []
        by_joint = [
            tuple([value / one.shown(1.0) for value in column]) if column else (one.start_rad,) * count
            for one, column in zip(joints, named, strict=True)
        ]
        return list(zip(*by_joint, strict=True))

    def problems(self, config: WholeConfig) -> list[Problem]:
        """Columns that the rig has, speeds and accelerations within its limits, at rest at both ends."""
        layout, (times, columns) = config.layout, self.content
        wheels, valves = [f"{name}_mps" for name in layout.wheels], list(layout.valves)
        units = {name: "mm" if name in layout.slides else "deg" for name in layout.servos}
        by_kind = {_kind(name): unit for name, unit in units.items()}
        angles = [f"{name}_{unit}" for name, unit in (*by_kind.items(), *units.items())]
        known = [ALL_WHEELS, *wheels, *angles, *valves]
        unknown = [name for name in columns if name not in known]
        if unknown:
            allowed = f"{TIME} and {', '.join(known)}"
            return [Problem(_KEY, f"a column {', '.join(unknown)}", allowed, ("rover", "cylinders", "servos"))]
        problems = []
        for name, values in columns.items():
            if name in angles:
                problems += self._angle_problems(name, config)
                continue
            found = (
                _valve_problem(values)
                if name in valves
                else self._speed_problem(times, values, config)
            )  # fmt: skip
            problems += [Problem(_KEY, f"{name}: {found[0]}", found[1], found[2])] if found else []
        for cylinder in layout.cylinders:
            both = [columns.get(f"{cylinder}_{way}", (0.0,) * len(times)) for way in ("extend", "retract")]
            if any(one and other for one, other in zip(*both, strict=True)):
                problems.append(Problem(_KEY, f"{cylinder}: both ways powered at once", "one way at a time"))
        return problems

    def _angle_problems(self, name: str, config: WholeConfig) -> list[Problem]:
        """Angles that its joints may have, from where they start, no faster than they turn."""
        times, values = self.content.times_s, self.content.columns[name]
        steepest = max(
            abs(later - one) / (end - begin)
            for (one, later), (begin, end) in zip(pairwise(values), pairwise(times), strict=True)
        )
        problems, (which, _, unit) = [], name.rpartition("_")
        for joint in config.driven_joints:
            if which not in (joint.name, _kind(joint.name)):
                continue
            low, high, start, rate = map(
                joint.shown, (joint.low_rad, joint.high_rad, joint.start_rad, OF_RATE * joint.rate_radps)
            )
            what = f"{name}: of {joint.name} "
            if out := [value for value in values if not low <= value <= high]:
                problems.append(Problem(_KEY, f"{what}{out[0]:g}", f"{low:g} to {high:g} (range_{unit})", ("servos",)))
            if abs(values[0] - start) > BEGINS_WITHIN_DEG:
                found = f"{what}{values[0]:g} first"
                problems.append(Problem(_KEY, found, f"{start:.4g} there, where the joint starts", ("servos", "rover")))
            if self.interpolation == "linear" and steepest > rate:
                allowed = f"at most {rate:.3g}, {OF_RATE:g} of its rate_{unit}ps"
                problems.append(Problem(_KEY, f"{what}{steepest:.3g} {unit} in a second", allowed, ("servos",)))
        return problems

    def _speed_problem(
        self, times: tuple[float, ...], values: tuple[float, ...], config: WholeConfig
    ) -> tuple[str, str, tuple[str, ...]] | None:
        """What was found, what is allowed, and what that depends on."""
        radius_m, limits = config.least_wheel_radius_m, config.limits
        if values[0] or values[-1]:
            return f"{values[0]:g} m/s first and {values[-1]:g} m/s last", "0 in both: it begins and ends at rest", ()
        most_mps = limits.wheel_speed_radps * radius_m
        if (fastest := max(map(abs, values))) > most_mps:
            depends_on = ("limits.wheel_speed_radps",)
            return f"{fastest:g} m/s", f"at most {most_mps:.3g} m/s (limits.wheel_speed_radps at the rim)", depends_on
        most_mps2 = OF_ACCELERATION * limits.wheel_acceleration_radps2 * radius_m
        rates = [(later - one) / (end - begin) for (one, later), (begin, end) in zip(
            pairwise(values), pairwise(times), strict=True)]  # fmt: skip
        if self.interpolation == "linear" and (steepest := max(map(abs, rates))) > most_mps2:
            place = times[[abs(rate) for rate in rates].index(steepest)]
            allowed = f"at most {most_mps2:.3g} m/s in a second, half of limits.wheel_acceleration_radps2 at the rim"
            return f"{steepest:.3g} m/s in a second from {place:g} s on", allowed, ("limits.wheel_acceleration_radps2",)
        return None


def _kind(joint: str) -> str:
    """Last word of a joint's name, the same for the joints of all legs."""
    return joint.rsplit("_", 1)[-1]


def _valve_problem(values: tuple[float, ...]) -> tuple[str, str, tuple[str, ...]] | None:
    if other := [value for value in values if value not in (0.0, 1.0)]:
        return f"{other[0]:g}", "0, off, or 1, powered", ()
    return ("1 in its last row", "0 there: no valve is powered at the end", ()) if values[-1] else None
