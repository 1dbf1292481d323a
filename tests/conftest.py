import importlib.util
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# `make fuzz` asks for it by HIL_FUZZ=1; tests that say their own max_examples keep it
settings.register_profile("fuzz", max_examples=5_000, deadline=None)
if os.environ.get("HIL_FUZZ"):
    settings.load_profile("fuzz")


@pytest.fixture(scope="session")
def kill_run():
    """The soak's own program, to be run for a few kills."""
    spec = importlib.util.spec_from_file_location("kill_run", Path(__file__).parent / "soak" / "kill_run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_run"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
