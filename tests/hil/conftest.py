import pytest

from hil.config import load_config
from hil.links.shared import Shared


@pytest.fixture
def shared(tmp_path):
    """Memory of a run that keeps all samples."""
    return Shared(tmp_path, load_config("sim_impact", ["clock=realtime", "telemetry.endpoint=''"]), {"version": "1"})
