import importlib.util
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No example has to be quick: a busy machine is no defect, and the first call of a kernel compiles it.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make fuzz` asks for it by HIL_FUZZ=1; tests that say their own max_examples keep it
settings.register_profile("fuzz", settings.get_profile("suite"), max_examples=5_000)
settings.load_profile("fuzz" if os.environ.get("HIL_FUZZ") else "suite")


@pytest.fixture(scope="session")
def kill_run():
    """The soak's own program, to be run for a few kills."""
    spec = importlib.util.spec_from_file_location("kill_run", Path(__file__).parent / "soak" / "kill_run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_run"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
