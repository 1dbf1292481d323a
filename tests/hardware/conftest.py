"""The rig of HIL_HARDWARE_CONFIG: wheels off the ground, hard-wired emergency stop within reach of a person."""

import os
from pathlib import Path

import pytest

from hil.config import load_config


@pytest.fixture(scope="session")
def config():
    """Config of the rig; without it the tests cannot run."""
    path = os.environ.get("HIL_HARDWARE_CONFIG")
    if not path:
        pytest.skip("HIL_HARDWARE_CONFIG names no config of a rig")
    found = load_config(Path(path))
    if found.devices is None:
        pytest.skip(f"{path}: no devices")
    return found
