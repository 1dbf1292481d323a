import importlib.util
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

PEER = Path(__file__).with_name("shm_peer.py")


class Peers:
    """The module `shm_peer`, and other processes that run it."""

    def __init__(self):
        spec = importlib.util.spec_from_file_location("shm_peer", PEER)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    @contextmanager
    def run(self, task, path, *numbers):
        """A process that has reported ready; killed at the end, without a chance to clean up."""
        command = [sys.executable, PEER, task, path, *map(str, numbers)]
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout.readline() == "ready\n"
                yield process
            finally:
                process.send_signal(signal.SIGKILL)


@pytest.fixture(scope="session")
def peers():
    return Peers()
