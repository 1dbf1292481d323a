r"""The section of the experiment walk, and a gait as data: a cycle of phases, each with the angles at its end.

A gait is CSV text, one row a phase. Columns:

- `duration_s`: how long the phase lasts [s].
- `..._deg`: angle of joints at the end of the phase [degrees]: `front_walking_deg` is of all driven joints whose names
  have these words in this order, `walking_deg` of all that walk. Empty: the joint stays.
- `..._wheels`: what wheels do: `front_wheels` are those whose names have that word, `wheels` are all. The later column
  has priority. `hold`: the wheel stands still over the ground, and its drive turns back what its leg turns. `lock`: its
  drive stands still, so it rolls as its leg turns it. `roll`, or empty: it rolls along with the body.

The cycle is closed: it begins with the angles of its last row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

from pydantic import Field, field_validator

from hil.config.problems import Problem
from hil.config.schema.base import Listed, Section, bounded, key, positive
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from hil.config.text_io import number_in, numbered_rows
from hil.messages.layout import Layout

Contact = Literal["hold", "lock", "roll"]
CONTACTS: tuple[Contact, ...] = get_args(Contact)
DURATION, ANGLE, WHEELS = "duration_s", "_deg", "wheels"
SHORTEST_S, LONGEST_S, MOST_PHASES, LARGEST_DEG = 0.1, 600.0, 100, 180.0


class Phase(NamedTuple):
    """One phase of a gait."""

    seconds: float  #: how long it lasts
    #: joints, by words of their names, and their angle at the end of the phase [rad]
    angles: tuple[tuple[str, float], ...]
    #: wheels, by words of their names, and what they do; of two that fit, the later holds
    contacts: tuple[tuple[str, Contact], ...]


@lru_cache(16)
def read_gait(text: str) -> tuple[Phase, ...]:
    r"""The phases of a gait. Raises ValueError: it is no gait; the message names the row, as a text editor counts it.

    Example:
        >>> read_gait("duration_s,front_walking_deg,rear_wheels\n4,-15,hold\n4,15,\n")[0].contacts
        (('rear', 'hold'),)
        >>> read_gait("duration_s,rear_wheels\n4,stand\n")
        Traceback (most recent call last):
            ...
        ValueError: row 2: rear_wheels is 'stand'; hold, lock or roll
    """
    lines = numbered_rows(text)
    names = lines[0][1] if lines else []
    fit = [name == DURATION or name.endswith(ANGLE) or name.split("_")[-1] == WHEELS for name in names]
    if DURATION not in names or len(set(names)) < len(names) or not all(fit):
        found = ",".join(names)[:80]
        raise ValueError(
            f"the header is {found!r}; {DURATION} once, NAME{ANGLE} for joints and NAME_{WHEELS} for wheels"
        )
    if not 1 <= len(lines) - 1 <= MOST_PHASES:
        raise ValueError(f"{len(lines) - 1} rows under the header; 1 to {MOST_PHASES}")
    return tuple(_phase(number, cells, names) for number, cells in lines[1:])


def _phase(number: int, cells: Sequence[str], names: Sequence[str]) -> Phase:
    if len(cells) != len(names):
        raise ValueError(f"row {number} has {len(cells)} columns; {len(names)}, as the header")
    seconds, angles, contacts = math.nan, [], []
    for name, cell in zip(names, cells, strict=True):
        if name == DURATION:
            seconds = _number(number, name, cell, SHORTEST_S, LONGEST_S)
        elif not cell:
            continue
        elif name.endswith(ANGLE):
            angle = _number(number, name, cell, -LARGEST_DEG, LARGEST_DEG)
            angles.append((name.removesuffix(ANGLE), math.radians(angle)))
        else:
            contact = next((one for one in CONTACTS if one == cell), None)
            if contact is None:
                raise ValueError(f"row {number}: {name} is {cell[:40]!r}; {', '.join(CONTACTS[:-1])} or {CONTACTS[-1]}")
            contacts.append((name.removesuffix(WHEELS).removesuffix("_"), contact))
    return Phase(seconds, tuple(angles), tuple(contacts))


def _number(number: int, name: str, cell: str, least: float, most: float) -> float:
    value = number_in(cell)
    if not least <= value <= most:
        raise ValueError(f"row {number}: {name} is {cell[:40]!r}; a number from {least:g} to {most:g}")
    return value


def fits(words: str, name: str) -> bool:
    """Whether a name of several words has these words in this order.

    Example:
        >>> fits("front_walking", "front_left_walking"), fits("rear", "front_left"), fits("", "rear_left")
        (True, False, True)
    """
    rest = iter(name.split("_"))
    return all(word in rest for word in words.split("_") if word)


def phase_targets(phase: Phase, driven: Sequence[str], before: Sequence[float]) -> list[float]:
    """Angles of the driven joints at the end of a phase [rad]. Raises ValueError: an entry fits no driven joint."""
    result = list(before)
    for words, angle in phase.angles:
        wrong = f"{words}{ANGLE} fits no driven joint; driven are {', '.join(driven) or 'none'}"
        for place in _places(words, driven, wrong):
            result[place] = angle
    return result


def phase_contacts(phase: Phase, wheels: Sequence[str]) -> list[Contact]:
    """What each wheel does in a phase. Raises ValueError: an entry fits no wheel."""
    result: list[Contact] = ["roll"] * len(wheels)
    for words, contact in phase.contacts:
        for place in _places(words, wheels, f"{words}_{WHEELS} fits no wheel; wheels are {', '.join(wheels)}"):
            result[place] = contact
    return result


def _places(words: str, names: Sequence[str], wrong: str) -> list[int]:
    """Of the names that an entry fits. Raises ValueError: it fits none."""
    places = [place for place, name in enumerate(names) if fits(words, name)]
    if not places:
        raise ValueError(wrong)
    return places


_GAITS = "gaits"
# With the rest of a config it stays below the largest YAML file that is read.
_MOST_CHARACTERS = 20_000
WALKING, STEERING = "walking", "steering"
Motion = Literal["gait", "straight", "arc", "turn", "crab", "route", "body_height", "wheel_lift", "wait"]
Place = Annotated[float, Field(ge=-1000, le=1000)]
Point = Annotated[tuple[Place, Place], Field(strict=False)]


class WalkStep(Section):
    """One motion, from rest to rest; it reads only the keys that are its own."""

    motion: Motion = key(
        "gait",
        "gait: cycles of walk.gait; straight; arc; turn in place; crab: sideways without turning; "
        "route: through way points; "
        "body_height and wheel_lift: legs swing; wait: stand still",
    )
    cycles: int = bounded(3, 1, 1000, "of a gait")
    duration_s: float = bounded(
        10.0, 0.1, 3600, "of straight, arc, turn, crab, without the time to steer before; and of wait"
    )
    speed_mps: float = bounded(0.05, -10, 10, "of straight, arc, crab and route; below 0: backwards")
    radius_m: float = bounded(2.0, -1000, 1000, "of arc, from its middle to the base; below 0: to the right")
    rate_degps: float = bounded(3.0, -90, 90, "of turn and route; above 0: to the left")
    heading_deg: float = bounded(20.0, -90, 90, "of crab, from straight ahead; above 0: to the left")
    points: Listed[Point] = key(
        ((0.5, 0.0), (1.0, 0.3)),
        "of route: x ahead and y to the left of where it begins [m]",
        min_length=1,
        max_length=1000,
    )
    corner_m: float = bounded(
        0.0, 0, 1000, "of route: radius of the arcs that cut its corners; 0: it turns in place there"
    )
    change_m: float = bounded(
        -0.02, -2, 2, "of body_height, upwards; of wheel_lift, the wheel's, upwards in the rover's frame"
    )
    wheel: str = key("front_left", "of wheel_lift", max_length=64)


class WalkConfig(ExperimentSection):
    """Motions and gaits, one after the other, by drives and driven joints."""

    between_runs: ClassVar[tuple[str, ...]] = (
        "most_slide_m",
        "least_advance",
        "most_servo_error_deg",
        "most_at_limit_s",
    )

    gait: str = key(  # checked by default: a record has the table, whatever becomes of the file
        "inch_worm",
        "cycle of a gait: inch_worm, axle_by_axle, or a table of its phases; columns duration_s, NAME_deg, angles of "
        "driven joints at the end of the phase, and NAME_wheels: hold, lock or roll",
        note="a name, or CSV text of several lines with a header",
        max_length=_MOST_CHARACTERS,
        validate_default=True,
    )
    steps: Listed[WalkStep] = key((WalkStep(),), "what is done, one after the other", min_length=1, max_length=100)
    most_slide_m: float = positive(
        0.02,
        10,
        "largest way that a wheel which holds or is locked may slide over the ground, from its stop to its "
        "next motion, in an accepted run",
    )
    least_advance: float = bounded(
        0.8, 0, 1, "smallest part of the way that follows from the motions, in an accepted run"
    )

    most_servo_error_deg: float = positive(
        2.0, 180, "largest difference between angle set and angle measured of a driven joint, in an accepted run"
    )
    most_at_limit_s: float = bounded(
        0.1,
        0,
        3600,
        "longest time in which a joint's motion takes at least the torque limit of its servo, by the twin, "
        "in an accepted run",
    )

    @field_validator("gait")
    @classmethod
    def _is_a_gait(cls, text: str) -> str:
        named = shipped_gaits()
        if "\n" not in text:
            if text not in named:
                raise ValueError(f"{text!r}; one of {', '.join(sorted(named))}, or CSV text of several lines")
            text = named[text]
        read_gait(text)
        return text

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Of the gait's cycle."""
        return read_gait(self.gait)

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Joints and wheels that the motions need and the rig has not; a straight line without end for an arc."""
        layout = config.layout
        depends_on = ("rover", "servos")
        if any(step.motion == "gait" for step in self.steps):
            try:
                for phase in self.phases:
                    phase_targets(phase, layout.servos, (0.0,) * len(layout.servos))
                    phase_contacts(phase, layout.wheels)
            except ValueError as error:
                found, _, allowed = str(error).partition("; ")
                yield Problem("walk.gait", found, allowed, depends_on)
        for number, step in enumerate(self.steps):
            yield from _step_problems(f"walk.steps.{number}", step, layout)


def _step_problems(key: str, step: WalkStep, layout: Layout) -> Iterator[Problem]:
    servos, wheels = layout.servos, layout.wheels
    legs, steers = (sum(fits(kind, name) for name in servos) for kind in (WALKING, STEERING))
    depends_on = ("rover", "servos")
    if step.motion == "crab" and steers < len(wheels):
        allowed = f"with a servo on the steering of each of {len(wheels)} wheels (servos.joints)"
        yield Problem(f"{key}.motion", f"crab, {steers} driven steering joints", allowed, depends_on)
    if step.motion in ("body_height", "wheel_lift") and not legs:
        yield Problem(f"{key}.motion", step.motion, "with servos on walking joints (servos.joints)", depends_on)
    if step.motion == "wheel_lift" and step.wheel not in wheels:
        yield Problem(f"{key}.wheel", step.wheel, f"one of {', '.join(wheels)}", ("rover",))
    if step.motion == "arc" and abs(step.radius_m) < 0.01:
        yield Problem(
            f"{key}.radius_m", f"{step.radius_m:g} m", "0.01 m or more either way; turn is the motion in place"
        )
    if step.motion == "route" and (step.speed_mps <= 0.0 or step.rate_degps <= 0.0):
        found = f"{step.speed_mps:g} m/s, {step.rate_degps:g} deg/s"
        yield Problem(f"{key}.speed_mps", found, "above 0, and rate_degps too: the largest of a route")
    if step.motion in ("straight", "arc", "crab") and not step.speed_mps:
        yield Problem(f"{key}.speed_mps", "0", "another speed; wait is the motion at rest")
    if step.motion == "turn" and not step.rate_degps:
        yield Problem(f"{key}.rate_degps", "0", "another rate; wait is the motion at rest")


def shipped_gaits() -> dict[str, str]:
    """Tables of the gaits that come with the program, by name."""
    folder = resources.files("rig_configs") / _GAITS
    return {
        file.name.removesuffix(".csv"): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".csv")
    }
