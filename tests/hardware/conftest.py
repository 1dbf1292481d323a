"""The rig that HIL_HARDWARE_CONFIG names: wheels off the ground, hard-wired emergency stop in somebody's hand."""

import os
from pathlib import Path

import pytest

from hil.config import load_config


@pytest.fixture(scope="session")
def config():
    """Of the rig; without it there is nothing to test."""
    path = os.environ.get("HIL_HARDWARE_CONFIG")
    if not path:
        pytest.skip("HIL_HARDWARE_CONFIG names no config of a rig")
    found = load_config(Path(path))
    if found.devices is None:
        pytest.skip(f"{path}: no devices")
    return found
