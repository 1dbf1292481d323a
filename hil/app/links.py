"""From the config to real drivers: which one, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivers.base import StopFrames
from hil.config import Config


def stop_frames(config: Config) -> Mapping[str, Sequence[StopFrames]]:
    """What stops each link without its driver."""
    return {}


def at_endpoints(config: Config, endpoints: Mapping[str, str]) -> Config:
    """The same config with the ports of a simulated rig."""
    return config


def open_link(name, config, shared, alive):
    raise NotImplementedError
