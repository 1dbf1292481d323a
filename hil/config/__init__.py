"""The config of a rig: its model, its loader, its errors."""

from hil.config.checked_config import Config
from hil.config.loading import load_config, parse_config, shipped_configs
from hil.config.problems import ConfigError, Problem
from hil.config.schema.sensors import ChannelConfig

__all__ = ["ChannelConfig", "Config", "ConfigError", "Problem", "load_config", "parse_config", "shipped_configs"]
