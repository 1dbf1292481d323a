"""Which configs need the same kernels.

Kernels are compiled for types. Those follow from choices, counts, and from what is there at all, zero included; two
configs that differ in the value of other numbers only need the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hil.config import Config
from hil.config.rig import Rig


def kernel_kind(config: Config) -> str:
    """A text that is equal for configs that need the same kernels."""
    return repr(_shape(config.model_dump(exclude={"seed", "name", "telemetry", "record"})))


def one_of_each_kind(configs: Sequence[Config]) -> list[Rig]:
    """Rigs of configs, one for each set of kernels that they may need."""
    kinds: dict[str, Config] = {}
    for config in configs:
        kinds.setdefault(kernel_kind(config), config)
    return [Rig(config) for config in kinds.values()]


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shape(item) for item in value]
    return bool(value) if isinstance(value, float) else value
