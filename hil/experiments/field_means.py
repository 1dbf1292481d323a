"""Means of fields of ticks that are seen block by block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class FieldMeans:
    """Sums of fields so far.

    Args:
        axes: over which each field is summed: 0, its elements apart, or None, all of them together.

    Attributes:
        count: of the rows.
    """

    def __init__(self, axes: Mapping[str, int | None]) -> None:
        self._axes = axes
        self._sums: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}
        self.count = 0

    def add(self, rows: NDArray[np.void]) -> None:
        """Take in rows."""
        self.count += len(rows)
        for field, axis in self._axes.items() if len(rows) else ():
            values = rows[field]
            self._numbers[field] = self._numbers.get(field, 0) + (len(rows) if axis == 0 else values.size)
            if field not in self._sums:
                self._sums[field] = values.sum(axis=axis)
            elif axis == 0:  # elements are summed row by row, as they would be all at once
                self._sums[field] = np.concatenate([self._sums[field][None], values]).sum(axis=0)
            else:
                self._sums[field] = self._sums[field] + values.sum()

    def sum(self, field: str) -> Any:
        """Of a field; 0 of no rows."""
        return self._sums.get(field, 0.0)

    def mean(self, field: str) -> Any:
        """Of a field; of no rows there is none. Raises KeyError: there were none."""
        return self._sums[field] / self._numbers[field]
