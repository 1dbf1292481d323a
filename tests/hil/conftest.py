import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zmq

from hil.analysis import recording_checks
from hil.config import load_config
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import LEASE, CommandMemory, SharedOperator
from hil.messages.operator_input import NOTICES
from hil.operator import client as client_module
from hil.operator.runtime_folder import Running, RuntimeFolder, read_token
from hil.operator.sockets import CommandSocket, SharedCommands
from hil.recording import content

# No test waits for it [s].
PATIENCE_S = 300.0
SHORT_TRIAL = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''",
)  # fmt: skip


@pytest.fixture
def shared(tmp_path):
    """Memory of a run that keeps all samples."""
    return RunMemory(tmp_path, load_config("sim_impact", ["clock=realtime", "telemetry.endpoint=''"]), {"version": "1"})


class CommandRig:
    """A command socket, served in a thread, and the resident process's end of its memory. Its clock stands."""

    def __init__(self, folder, endpoint="tcp://127.0.0.1:*", **who):
        self.t_ns = 10**9
        self.memory = CommandMemory(folder / "memory", create=True)
        self.loop = SharedOperator(self.memory.commands)
        self.socket = CommandSocket(endpoint, SharedCommands(self.memory), host=self, **who)
        self.endpoint = self.socket.endpoint
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def now_ns(self):
        return self.t_ns

    def _serve(self):
        while not self._ending.is_set():
            self.socket.serve(0.01)
        self.socket.close()

    def lease(self):
        """Name of the client that holds it, or None."""
        row = self._lease_row()
        return row["holder"].decode() if row["held"] else None

    def heartbeat(self):
        """Waits for the next one at the time of the clock."""
        while self._lease_row()["t_ns"] < self.t_ns:
            time.sleep(0.005)

    def _lease_row(self):
        row = np.zeros(1, LEASE)
        self.memory.lease.read(row)
        return row[0]

    def commands(self):
        """Those asked for; not what the server reports."""
        found = []
        while more := self.loop.read():
            found += [one for one in more if not isinstance(one, NOTICES)]
        return found

    def refused(self, least):
        """Requests refused so far, once there are at least so many."""
        while (count := self.socket.gate.refused.total()) < least:
            time.sleep(0.005)
        return count

    def send_raw(self, frames, secure=lambda _: None):
        """Send frames as any program could; returns once they are on their way."""
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.setsockopt(zmq.LINGER, 5000)
            secure(socket)
            socket.connect(self.endpoint)
            for frame in frames:
                socket.send_multipart(frame if isinstance(frame, list) else [frame])

    def close(self):
        self._ending.set()
        self._thread.join()
        self.memory.close()


@pytest.fixture
def command_rig():
    """The class: `command_rig(folder, token=TOKEN)`. Its server lives, and clients wait however late it answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client_module, "ANSWER_S", PATIENCE_S)
        yield CommandRig


@pytest.fixture
def found_rig(command_rig, tmp_path, monkeypatch):
    """A command socket that clients of this user find in the runtime folder."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = RuntimeFolder.make()
    token_file = folder.new_token()
    rig = command_rig(folder.path, token=read_token(token_file))
    folder.announce(Running(os.getpid(), "sim_impact", rig.endpoint, str(token_file)))
    yield rig
    rig.close()
    folder.close()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has records be read so many rows at a time, as a long one is: what is no longer would be read at once."""

    def at_a_time(rows: int) -> None:
        monkeypatch.setattr(content, "BLOCK_BYTES", 1)
        monkeypatch.setattr(content, "_CHUNK_ROWS", rows)
        monkeypatch.setattr(content, "_AT_THE_END", rows)
        monkeypatch.setattr(recording_checks, "_TOGETHER", max(rows // 10, 1))

    return at_a_time


@pytest.fixture
def slices_read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Each reading of a dataset from now on, in this process: its name, and how many rows."""
    found: list[tuple[str, int]] = []
    read = h5py.Dataset.__getitem__

    def counted(dataset: h5py.Dataset, *key: Any, **how: Any) -> Any:
        rows = read(dataset, *key, **how)
        found.append((dataset.name, len(rows) if np.ndim(rows) else 1))
        return rows

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counted)
    return found


@pytest.fixture(scope="module")
def short_trial(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a trial of less than two seconds without a figure, with these settings; its folder."""
    from hil.app.run import run_experiment  # with the kernels, which most tests do without

    def make(*settings: str) -> Path:
        folder = tmp_path_factory.mktemp("trial")
        config = load_config("sim_impact", [*SHORT_TRIAL, *settings], 3)
        run_experiment(config, folder, progress=lambda _: None, figure=False)
        return folder

    return make
