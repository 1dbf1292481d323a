import pytest

from hil.config import load_config
from hil.ipc.run_memory import RunMemory


@pytest.fixture
def shared(tmp_path):
    """Memory of a run that keeps all samples."""
    return RunMemory(tmp_path, load_config("sim_impact", ["clock=realtime", "telemetry.endpoint=''"]), {"version": "1"})
