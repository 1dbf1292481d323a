"""Shared by the impact tests: the RCP with legs that can walk, or swing on a spring."""

from __future__ import annotations

import pytest

from models.rover import rcp
from models.rover.rover import Rover


@pytest.fixture(scope="session")
def walking_rover() -> Rover:
    """The RCP with its six walking joints free: 21 speeds."""
    return rcp(locks={"walking": None})
