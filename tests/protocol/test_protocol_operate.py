"""The resident process at the protocol level: what the controllers do when the console is lost, and in the next run."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.verify import verify
from hil.app import resident
from hil.app.backends import RealtimeBackend
from hil.app.console import Console
from hil.app.faults.virtual_run import VirtualRun
from hil.app.operate import ResidentProcess
from hil.app.run_loop import Signals
from hil.config import load_config
from hil.config.operator_settings import Settings
from hil.config.rig import Rig
from hil.ipc.shared_types import LEASE, CommandMemory, OperatorWriter
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, ClearFault, Jog, Set, Start, Stop
from hil.recording import read_trial
from hil.recording.run_folder import summary_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
SETTINGS = (
    "experiment=drive", "drive.steps=[{for_s: 60, speed_mps: 0.03}]", "telemetry.endpoint=''",
    "realtime.fifo_priority=0", "realtime.lock_memory=false", "realtime.awake=false", "realtime.measure_s=0",
)  # fmt: skip
CONSOLE_LOST = int(Fault.CONSOLE_LOST)


class Operated(VirtualRun):
    """A resident process of a rig at the protocol level; the test is its operator."""

    def __init__(self, tmp_path):
        self.memory = CommandMemory(tmp_path / "commands", create=True)
        self.writer, self._lease = OperatorWriter(self.memory.commands), np.zeros(1, LEASE)
        self.signals, self.said, self.process = Signals(), [], None
        self.holds = False
        folder, scratch = tmp_path / "runs", tmp_path / "rig"
        for one in (folder, scratch):
            one.mkdir()
        super().__init__(Rig(load_config("sim_wire", SETTINGS)), folder, scratch, attended=True)
        self.folder = folder

    def _run(self):
        try:
            self.console = Console(self.memory, self.host)
            self.process = ResidentProcess(
                Settings(self._load), self._folder, self.console, self.signals, self.said.append, opener=self._open
            )
            self.process.serve()
        except Exception as error:
            self.error = error
        self._ended()

    def _load(self, more, seed):
        return load_config("sim_wire", [*SETTINGS, *more], seed)

    def _open(self, described, folder, progress, stack, *, attended, console):
        self.rig = RealtimeBackend(
            described, folder, progress, stack, attended=attended, console=console, platform=self.computer.platform
        )
        self.shared = self.rig.shared
        return self.rig

    def take_lease(self):
        self.holds = True
        self._beat()
        self.time.start("heartbeat", self._beats)

    def _beats(self):
        while self.holds and not self.over:
            self._beat()
            self.host.sleep(0.1)

    def _beat(self):
        self._lease["holder"], self._lease["held"], self._lease["t_ns"] = b"Ada", 1, self.host.now_ns()
        self.memory.lease.write(self._lease)

    def until(self, state):
        """Wait until the status shows that state."""
        give_up_ns = self.host.now_ns() + 60_000_000_000
        while self.process is None or self.console.status.state != state:
            assert not self.over, (self.error, self.said)
            assert self.host.now_ns() < give_up_ns, (state, self.console.status, self.said)
            self.host.sleep(0.01)

    def drive(self):
        self.writer.put(Arm())
        self.until("armed")
        self.writer.put(Start())
        self.until("drive")
        self.host.sleep(0.3)
        assert max(self.simulated_rig.driven_radps()) > 0.1


@pytest.fixture
def rig(tmp_path, monkeypatch):
    monkeypatch.setattr(resident, "draw", lambda *_: None)
    one = Operated(tmp_path)
    one.until("idle")
    one.take_lease()
    yield one
    one.close()
    one.memory.close()


def test_without_its_console_the_controllers_are_cut_and_after_clearing_the_operator_drives_again(rig):
    rig.drive()
    rig.holds = False
    rig.host.sleep(0.7)  # virtual: 500 ms without a heartbeat, and one tick
    assert max(map(abs, rig.simulated_rig.driven_radps())) == 0.0
    rig.until("idle")
    assert [fault.number for fault in rig.console.status.faults] == [CONSOLE_LOST]
    rig.take_lease()
    rig.writer.put(ClearFault(CONSOLE_LOST))
    rig.writer.put(Jog(("front_left",), 0.02, 0.3))
    rig.until("move")
    rig.until("idle")
    rig.drive()
    rig.writer.put(Stop())
    rig.until("idle")
    rig.signals.ended = True
    rig.finish()
    folders = sorted(rig.folder.iterdir())
    assert [folder.name for folder in folders] == ["run_1", "run_2", "run_3"]
    for folder in folders:
        assert [check for check in verify(folder) if not check.ok] == []
    assert [str(read_trial(folder, trusted=True).meta["experiment"]) for folder in folders] == ["drive", "jog", "drive"]


@pytest.mark.ci_cases("drives")
@pytest.mark.parametrize("lost", ["drives", "recorder"])
def test_a_process_that_is_lost_between_two_runs_is_named_at_once_and_the_next_arm_starts_all_of_them_again(rig, lost):
    rig.drive()
    rig.writer.put(Stop())
    rig.until("idle")
    before = rig.processes.by_name.copy()
    before[lost].kill()
    rig.until("closed")
    message = rig.console.status.message
    assert message.startswith(f"{lost}: its process ended with status -9")
    assert message.endswith(", between two runs; the rig is closed, arm opens it again")
    assert all(process.status() is not None for process in before.values())
    assert max(map(abs, rig.simulated_rig.driven_radps())) == 0.0
    rig.drive()
    assert all(rig.processes.by_name[name] is not process for name, process in before.items())
    rig.writer.put(Stop())
    rig.until("idle")
    rig.signals.ended = True
    rig.finish()
    assert [folder.name for folder in sorted(rig.folder.iterdir())] == ["run_1", "run_2"]
    assert [check for check in verify(rig.folder / "run_2") if not check.ok] == []


def test_while_settings_change_the_controllers_stay_cut_and_the_next_run_drives_with_the_new_ones(rig):
    rig.drive()
    rig.writer.put(Stop())
    rig.until("idle")
    rig.writer.put(Set("soil.stiffness", 1e6))
    while not rig.console.status.settings.answered:
        assert max(map(abs, rig.simulated_rig.driven_radps())) == 0.0
        assert not rig.over, (rig.error, rig.said)
        rig.host.sleep(0.01)
    assert (rig.console.status.state, rig.console.status.settings.refused) == ("idle", [])
    rig.drive()
    rig.writer.put(Stop())
    rig.until("idle")
    rig.signals.ended = True
    rig.finish()
    wanted = [load_config("sim_wire", [*SETTINGS, *more]).sha256() for more in ([], ["soil.stiffness=1e6"])]
    folders = sorted(rig.folder.iterdir())
    assert [summary_of(folder)["config_sha256"] for folder in folders] == wanted
    for folder in folders:
        assert [check for check in verify(folder) if not check.ok] == []
