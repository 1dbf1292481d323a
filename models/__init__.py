"""Physics of rover, soil, impact, actuators and sensors. Pure: arrays in, arrays out; no I/O, no clock, no logging.

To be imported from: `models.wheel`, `models.rover`, `models.impact` (docs/how-to/use-the-models.md).
"""

import importlib
from types import ModuleType

__all__ = ["impact", "rover", "wheel"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(
            f"module 'models' has no attribute {name!r}; import from models.{', models.'.join(__all__)}"
        )
    return importlib.import_module(f"models.{name}")


def __dir__() -> list[str]:
    return __all__
