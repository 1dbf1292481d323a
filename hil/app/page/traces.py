"""Series of a run that is over, from its record, to be laid over the traces of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.events import impact_time, ticks_between
from hil.app.page.series import column
from hil.messages.layout import Layout
from hil.recording import OpenRecord

# Ticks of a run that are sent at most; more are left out evenly.
MOST_TICKS = 3000


def traces_of(record: OpenRecord, summary: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Series of a run.

    Args:
        record: of the run.
        summary: of the run; may be empty.
        names: of the series.

    Returns:
        t_s: (ticks,) from the start of the run [s]. columns: by name, (ticks,) each, null where it is not finite; a
        series that the run does not have is left out. impact_s: of the impact, null: there was none.

    Raises:
        LookupError: no tick was recorded.
    """
    ticks = ticks_within(record)
    layout = Layout.from_json(str(record.meta["layout"]))
    columns = {name: column(ticks, name, layout) for name in names}
    return {
        "t_s": (ticks["t_ns"] * 1e-9).tolist(),
        "columns": {name: values.tolist() for name, values in columns.items() if values is not None},
        "impact_s": impact_time(record, summary),
    }


def ticks_within(record: OpenRecord, from_s: float | None = None, to_s: float | None = None) -> NDArray[np.void]:
    """Ticks from one time to another, all of them or, of many, evenly as many as are sent. Raises LookupError: none."""
    first, end = ticks_between(record, from_s, to_s)
    if first >= end:
        raise LookupError("no tick was recorded" if first == 0 else "no tick was recorded in that time")
    ticks: NDArray[np.void] = record.tick[first:end][:: -(-(end - first) // MOST_TICKS)]
    return ticks
