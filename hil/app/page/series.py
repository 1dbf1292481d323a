"""Every number of a tick as the page calls it: FIELD or FIELD/ELEMENT, in telemetry and in a record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import Layout
from hil.messages.signals import TICK, flat, signals_of


def series(layout: Layout) -> list[dict[str, Any]]:
    """Every number of a tick: name, unit, description, and where telemetry has it.

    Args:
        layout: of the rig.
    """
    rows: list[dict[str, Any]] = []
    for signal in TICK:
        if not signal.present(layout):
            continue
        for index, element in enumerate(signal.names(layout) or ("",)):
            places = [int(place) for place in np.unravel_index(index, signal.shape(layout))]
            path = [signal.name, *([element] if signal.by_name else places)]
            about = {"unit": signal.unit_of(element), "description": signal.description}
            rows.append({"name": "/".join(filter(None, (signal.name, element))), **about, "path": path})
    return rows


def column(rows: NDArray[np.void], name: str, layout: Layout) -> NDArray[np.float64] | None:
    """A series of the rows of a record, (rows,); None: the rig does not have it.

    Args:
        rows: of `tick_dtype`.
        name: of the series.
        layout: of the rig.
    """
    field, _, element = name.partition("/")
    if field not in (rows.dtype.names or ()):
        return None
    elements = signals_of("tick")[field].names(layout) or ("",)
    return flat(rows[field])[:, elements.index(element)].astype(float) if element in elements else None
