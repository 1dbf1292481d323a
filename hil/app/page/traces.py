"""Series of a run that is over, from its record, to be laid over the traces of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    if not len(record.tick):
        raise LookupError("no tick was recorded")
    ticks = record.tick[:: -(-len(record.tick) // MOST_TICKS)]
    layout = Layout.from_json(str(record.meta["layout"]))
    columns = {name: column(ticks, name, layout) for name in names}
    hit = record.tick["t_ns"][record.tick["impact"].astype(bool)]
    impact_s = summary.get("impact_time_s")
    return {
        "t_s": (ticks["t_ns"] * 1e-9).tolist(),
        "columns": {name: values.tolist() for name, values in columns.items() if values is not None},
        "impact_s": float(hit[0]) * 1e-9 if impact_s is None and hit.size else impact_s,
    }
