"""A stand-in until the observer is there: the nominal twin's values, no source used."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from hil.estimation.twin import RoverTwin
from hil.messages.layout import Layout
from hil.messages.stages import Estimate, Observed, Prediction, Samples


class NotObserved:
    """The twin, with an empty `Observed`."""

    def __init__(self, twin: RoverTwin, layout: Layout) -> None:
        self._twin = twin
        wheels, nan = (math.nan,) * len(layout.wheels), math.nan
        count = len(layout.instruments)
        joints = (nan,) * len(layout.turning)
        self._observed = Observed(
            nan, wheels, wheels, wheels, (nan,) * 6, joints, (0.0, 0.0, -1.0), nan, nan, (nan,) * count, (0,) * count
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._twin, name)

    def predict(self, samples: Samples, estimate: Estimate) -> Prediction:
        """As the twin."""
        return replace(self._twin.predict(samples, estimate), observed=self._observed)
