"""The rovers of this package with the numbers of their sources, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from models.rover.parameters import Parameters
from models.rover.registry import ROVERS

PRESETS: Mapping[str, Parameters] = MappingProxyType({name: kind() for name, kind in ROVERS.items()})
