"""`hil.load`: a checked config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.config import Config, load_config


def load(source: str | Path, values: Mapping[str, Any] | None = None) -> Config:
    """Read and check a config.

    Args:
        source: path of a YAML file, or the name of a shipped config (`hil configs` lists them); a file comes first.
        values: replace those of the file, by dotted key: {"trial.angle_deg": 70}. A whole section may be a mapping:
            {"trial": {"angle_deg": 70}}; the keys that it does not name stay as they are, and {} turns on a section
            that is null. Numbers may be of numpy.

    Raises:
        ConfigError: with all problems at once: key, value found, values allowed.

    Example:
        >>> import hil
        >>> config = hil.load("sim_impact", {"trial.angle_deg": 70})
        >>> config.trial.angle_deg
        70.0
        >>> hil.load("sim_impact", {"trial.angle_deg": 500})
        Traceback (most recent call last):
            ...
        hil.config.problems.ConfigError: config sim_impact: 1 problem
          trial.angle_deg: found 500; allowed: a number 10 to 90
    """
    return load_config(source, {} if values is None else values)
