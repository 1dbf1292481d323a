"""A rover put on its ground, at rest: what the plant, the twin and their warm-up begin from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.validity import SETTLING_STEP
from models.vehicle.model import VehicleModel, VehicleState
from models.vehicle.step import Scene, run_bound

# Settling takes 0.02 to 0.09 s, most of what comes before the first tick in virtual time, and each run settles the same
# two vehicles twice: for the warm-up, and for itself. So many results are kept, those of a few rigs.
KEPT = 16
# A drawbar's pull rises in so many equal parts.
RISES = 20
_settled: dict[Hashable, list[FloatArray]] = {}


def settle(
    vehicle: VehicleModel,
    state: VehicleState,
    seconds: float = 2.0,
    step: float = SETTLING_STEP,
    pull: FloatArray | None = None,
) -> None:
    """Let a rover sink into the soil until it rests, then set the remaining speed to zero.

    The result for the same numbers in vehicle and state is computed once, and the same to the last bit each time.

    Args:
        vehicle: that rests.
        state: of it, from where it is put down.
        seconds: until it counts as at rest.
        step: longest step of time [s]; at most SETTLING_STEP is used.
        pull: (6,) of a drawbar, as `VehicleState.pull`, which rises meanwhile: a sudden one would lift wheels that a
            rising one does not. None: the state's own stays.
    """
    step = min(step, SETTLING_STEP)
    key = (seconds, step, *_numbers(vehicle), *_numbers(state), *_numbers(pull))
    if (arrays := _settled.pop(key, None)) is None:
        parts = 1 if pull is None else RISES
        # bound: a wrapper that unpacks sixty arrays for one call takes as long to compile as the step itself
        scene = BoundArguments(Scene(vehicle, state))
        for part in range(parts):
            if pull is not None:
                state.pull[:] = pull * (part + 1) / parts
            run_bound(scene, round(seconds / step / parts), step)
        state.v[:] = 0.0
        arrays = [array.copy() for array in _arrays((vehicle, state))]
    else:
        for array, values in zip(_arrays((vehicle, state)), arrays, strict=True):
            array[...] = values
    _settled[key] = arrays  # the newest last
    while len(_settled) > KEPT:
        del _settled[next(iter(_settled))]


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)


def _numbers(value: Any) -> Iterator[Hashable]:
    """All that a step depends on: types tell vehicles with other parts apart."""
    yield str(type(value))
    if isinstance(value, np.ndarray):
        yield from (value.dtype.str, value.shape, value.tobytes())
    elif isinstance(value, tuple):
        for part in value:
            yield from _numbers(part)
    else:
        yield value
