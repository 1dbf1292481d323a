r"""A gait as data: a cycle of phases, each with the joint angles at its end and what each wheel does meanwhile.

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
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from hil.config.text_io import number_in, numbered_rows

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
