import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def kill_run():
    """The soak's own program, to be run for a few kills."""
    spec = importlib.util.spec_from_file_location("kill_run", Path(__file__).with_name("kill_run.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_run"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
