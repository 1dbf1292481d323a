"""The config of a rig: its model, its loader, its errors."""

from hil.config.equipment import Channel
from hil.config.load import load_config, parse_config, shipped_configs
from hil.config.model import Config
from hil.config.problems import ConfigError, Problem

__all__ = ["Channel", "Config", "ConfigError", "Problem", "load_config", "parse_config", "shipped_configs"]
