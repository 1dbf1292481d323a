"""The numbers of one tick for its row, by a function that is generated once for a layout from `signals.TICK`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import Any

from hil.messages.layout import Layout
from hil.messages.signals import TICK
from hil.messages.stages import Command, Estimate, Prediction, Samples, Tick

TickPacker = Callable[[Tick, Samples, Estimate, Prediction, Command], tuple[float, ...]]


@cache
def tick_packer(layout: Layout) -> TickPacker:
    """What returns all numbers of a row of `tick_dtype`, those of arrays one by one.

    Sources of `TICK` are evaluated in one expression: 3 us, as much as lines by hand, where a loop over getters takes
    10. They stand in this package: nothing that is read from a file becomes code.
    """
    values = (f"*{one.source}" if one.shape(layout) else one.source for one in TICK if one.present(layout))
    text = f"lambda tick, samples, estimate, prediction, command: ({', '.join(values)},)"
    names: dict[str, Any] = {"flat": chain.from_iterable, "layout": layout}
    made: TickPacker = eval(text, names)
    return made
