"""Rows as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hil.analysis.campaign import columns_of
from hil.analysis.dataset import imported
from hil.config.units import unit_of

if TYPE_CHECKING:
    from pandas import DataFrame


def frame_of(rows: Sequence[Mapping[str, Any]], index: str) -> DataFrame:
    """A DataFrame of rows; `attrs["units"]` has the unit of each column, "1" of what has none.

    Args:
        rows: with names of columns as keys; a row may lack some.
        index: name of the column that is the index.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    with imported("pandas", "a DataFrame"):
        import pandas
    frame = pandas.DataFrame.from_records(list(rows), columns=columns_of([{index: None}, *rows]), index=index)
    frame.attrs["units"] = {column: unit_of(str(column).rpartition(".")[2], "") for column in frame.columns}
    return frame
