"""Every number of a tick as the page calls it: FIELD or FIELD/ELEMENT, in telemetry and in a record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import Layout
from hil.messages.schema import BY_WHEEL, tick_dtype
from hil.recording.fields import TICK_FIELDS, element_names


def series(layout: Layout) -> list[dict[str, Any]]:
    """Every number of a tick: name, unit, description, and where telemetry has it.

    Args:
        layout: of the rig.
    """
    found: list[dict[str, Any]] = []
    dtype = tick_dtype(layout)
    for name in dtype.names or ():
        field = TICK_FIELDS[name]
        about = {"unit": field.unit, "description": field.description}
        elements = element_names(field, layout)
        if not elements:
            found.append({"name": name, **about, "path": [name]})
        for index, element in enumerate(elements):
            places = [int(place) for place in np.unravel_index(index, dtype[name].shape)]
            path = [name, element] if name in BY_WHEEL else [name, *places]
            found.append({"name": f"{name}/{element}", **about, "path": path})
    return found


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
    elements = element_names(TICK_FIELDS[field], layout)
    if element not in (elements or ("",)):
        return None
    values = rows[field].reshape(len(rows), -1).astype(float)
    return values[:, elements.index(element) if elements else 0]
