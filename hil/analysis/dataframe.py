"""The ticks of a run as a pandas DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hil.analysis.dataset import imported, scalars, verified_summary
from hil.analysis.export.tables import tables_of
from hil.messages.signals import signals_of
from hil.recording import open_trial

if TYPE_CHECKING:
    from pandas import DataFrame


def ticks_of(folder: Path, *, unverified: bool = False) -> DataFrame:
    """The ticks of a run: a row each, index `time` [s], a column for each field or `field.element`.

    `attrs` has `units` and `descriptions` by column, and the numbers of the summary as `summary_<key>`. If it does not
    match its digests, and is `unverified`, the attribute `unverified` says why.

    Raises:
        FolderError: no such folder, or its summary cannot be read.
        RecordError: there is no record, or it is damaged.
        UnverifiedRunError: record and summary do not match their digests.
        MissingPackageError: pandas is not installed.
    """
    with imported("pandas", "a DataFrame"):
        import pandas
    summary, wrong = verified_summary(folder, unverified=unverified)
    with open_trial(folder) as record:
        table = tables_of(record)[0]
        values = dict(zip((column.name for column in table.columns), table.whole(), strict=True))
    fields = signals_of("tick")
    values = {name: one.astype(bool) if fields[name.partition(".")[0]].flag else one for name, one in values.items()}
    time_s = pandas.Index(values.pop("t_ns") * 1e-9, name="time")
    frame = pandas.DataFrame(values, index=time_s)
    shown = [column for column in table.columns if column.name in values]
    frame.attrs = {
        "units": {column.name: column.unit for column in shown},
        "descriptions": {column.name: column.description for column in shown},
        **{f"summary_{key}": value for key, value in scalars(summary)},
        **({"unverified": wrong} if wrong else {}),
    }
    return frame
