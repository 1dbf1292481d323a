"""Where two sequences of ticks, or of events, differ: bit for bit or beyond a tolerance, NaN equal to NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.void]


class Difference(NamedTuple):
    """A field of the ticks that differs somewhere; or `event` or `exception`, with their names for numbers.

    Attributes:
        field: its name.
        first_tick: first tick in which it differs.
        element: which number of the field differs there first, empty if it is one number.
        recorded: that number as recorded, None where there is nothing.
        replayed: and as replayed.
        ticks: how many ticks differ.
        largest: largest difference, None where one of both is no finite number.
    """

    field: str
    first_tick: int
    element: tuple[int, ...]
    recorded: float | str | None
    replayed: float | str | None
    ticks: int
    largest: float | None


def tick_differences(
    recorded: Rows, replayed: Rows, fields: Sequence[str], allowed: Callable[[str], float | None] = lambda _: None
) -> list[Difference]:
    """Differences in those fields.

    Args:
        recorded: rows of `/tick`.
        replayed: rows of the same ticks.
        fields: that are compared.
        allowed: difference of a field that counts for none; None: bit for bit. Asked only where bits differ.
    """
    differences = []
    for field in fields:
        old, new = recorded[field], replayed[field]
        unlike = _unlike(old, new, partial(allowed, field))
        if not unlike.any():
            continue
        places = np.argwhere(unlike)
        place = tuple(places[0].tolist())
        differences.append(
            Difference(
                field,
                int(recorded["tick"][place[0]]),
                place[1:],
                old[place].item(),
                new[place].item(),
                len(np.unique(places[:, 0])),
                _largest(old[unlike], new[unlike]),
            )
        )
    return differences


def together(differences: Sequence[Difference]) -> Difference:
    """Differences of one field in several parts of a record, in order, as one."""
    largest = [difference.largest for difference in differences]
    return differences[0]._replace(
        ticks=sum(difference.ticks for difference in differences),
        largest=None if None in largest else max(number for number in largest if number is not None),
    )


def event_differences(recorded: Rows, replayed: Rows, *, exact: bool = True) -> list[Difference]:
    """Events that are in one of both only, in whatever order.

    Args:
        recorded: rows of `EVENT`.
        replayed: the same.
        exact: bit for bit; else numbers to nine digits.
    """
    old, new = ({_identity(row, exact): row for row in rows} for rows in (recorded, replayed))
    lost, more = ([rows[key] for key in rows.keys() - others.keys()] for rows, others in ((old, new), (new, old)))
    if not lost and not more:
        return []
    first = min(int(row["tick"]) for row in (*lost, *more))
    before, now = (_in_words(rows, first) for rows in (lost, more))
    return [Difference("event", first, (), before, now, len({int(row["tick"]) for row in (*lost, *more)}), None)]


def _identity(row: np.void, exact: bool) -> tuple[Any, ...]:
    return (row.tobytes(),) if exact else tuple(f"{v:.9g}" if isinstance(v, float) else v for v in row.tolist())


def _unlike(old: NDArray[Any], new: NDArray[Any], allowed: Callable[[], float | None]) -> NDArray[np.bool_]:
    if old.dtype.kind != "f":
        different: NDArray[np.bool_] = old != new
        return different
    whole = f"i{old.dtype.itemsize}"
    bits, other_bits = (np.ascontiguousarray(values).view(whole) for values in (old, new))
    unlike: NDArray[np.bool_] = (bits != other_bits) & ~(np.isnan(old) & np.isnan(new))
    if unlike.any() and (most := allowed()) is not None:
        with np.errstate(invalid="ignore"):
            unlike &= ~(np.abs(new - old) <= most)
    return unlike


def _largest(old: NDArray[Any], new: NDArray[Any]) -> float | None:
    with np.errstate(invalid="ignore"):
        largest = float(np.abs(new.astype(float) - old.astype(float)).max())
    return largest if np.isfinite(largest) else None


def _in_words(rows: Sequence[np.void], tick: int) -> str | None:
    """What the events of a tick say."""
    words = [
        f"{row['name'].decode()}, {row['t_ns']} ns" + (f": {row['detail'].decode()}" if row["detail"] else "")
        for row in rows
        if row["tick"] == tick
    ]
    return "; ".join(sorted(words)) or None
