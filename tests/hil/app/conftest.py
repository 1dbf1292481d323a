"""The resident process in virtual time, with a client of the command server that writes as the server does."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from hil.analysis.verify import verify
from hil.app import resident
from hil.app.console import Console
from hil.app.operate import ResidentProcess
from hil.app.run_loop import Signals
from hil.config import load_config
from hil.config.operator_settings import Settings
from hil.ipc.shared_types import LEASE, STATUS, CommandMemory, OperatorWriter
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, Start
from hil.recording import read_trial

DRIVE = (
    "experiment=drive", "drive.steps=[{for_s: 60, speed_mps: 0.03}]", "record.sensors=all", "telemetry.endpoint=''",
)  # fmt: skip
STOP_BY_OPERATOR, CONSOLE_LOST = int(Fault.STOP_BY_OPERATOR), int(Fault.CONSOLE_LOST)
HEARTBEAT_S = 0.1
LONGEST_S = 60.0


class AttributeTarget:
    """Equals a question with that key."""

    def __init__(self, key):
        self.key = key

    def __eq__(self, question):
        return question is not None and question["key"] == self.key

    __hash__ = None


class Operated:
    """A resident process that runs beside the test, which is its only client.

    Args:
        tmp_path: folder of the memory and of the runs.
        name: of the config.
        overrides: of it.
        lead: makes the campaign that may be started, from folder and console; None: there is none.
        more: further arguments of `ResidentProcess`.
    """

    def __init__(self, tmp_path, name, overrides, *, lead=None, **more):
        self.time = VirtualTime()
        self.host = VirtualHost(self.time)
        self.folder = tmp_path / "runs"
        self.folder.mkdir()
        self.memory = CommandMemory(tmp_path / "commands", create=True)
        self._ring, self._lease, self._row = (
            OperatorWriter(self.memory.commands),
            np.zeros(1, LEASE),
            np.zeros(1, STATUS),
        )
        self.console, self.signals, self.said = Console(self.memory, self.host), Signals(), []
        self.settings = Settings(lambda further, seed: load_config(name, [*overrides, *further], seed))
        campaign = lead and lead(self.folder, self.console, self.said.append)
        self.process = ResidentProcess(
            self.settings, self.folder, self.console, self.signals, self.said.append, campaign=campaign, **more
        )
        self.error, self.over, self._alive = None, False, False
        self.time.start("resident process", self._serve)

    def _serve(self):
        try:
            self.process.serve()
        except Exception as error:
            self.error = error
        self.over = True

    @property
    def status(self):
        self.memory.status.read(self._row)
        return msgspec.json.decode(self._row["content"].item() or b"{}")

    def take_lease(self):
        """Hold the operator lease from now on."""
        self._alive, self.last_beat_ns = True, 0
        self._beat()
        self.time.start("heartbeat", self._beats)

    def lose_lease(self):
        """Send no further heartbeat."""
        self._alive = False

    def release_lease(self):
        """Give the lease back."""
        self._alive = False
        self._lease["held"] = 0
        self.memory.lease.write(self._lease)

    def _beat(self):
        self.last_beat_ns = self.host.now_ns()
        self._lease["holder"], self._lease["held"], self._lease["t_ns"] = b"Ada", 1, self.last_beat_ns
        self.memory.lease.write(self._lease)

    def _beats(self):
        while self._alive and not self.over:
            self._beat()
            self.host.sleep(HEARTBEAT_S)

    def ask(self, *commands):
        """Send commands."""
        for command in commands:
            assert self._ring.put(command)

    @staticmethod
    def asked(key):
        """A question of that kind, whatever its text."""
        return AttributeTarget(key)

    def until(self, **wanted):
        """Wait until the status shows these values; return it."""
        give_up_ns = self.host.now_ns() + round(LONGEST_S * 1e9)
        while any(value != self.status.get(key) for key, value in wanted.items()):
            assert not self.over, (self.error, self.said)
            assert self.host.now_ns() < give_up_ns, (wanted, self.status, self.said)
            self.host.sleep(0.01)
        return self.status

    def signal(self):
        """What SIGINT does; in a thread that is not the main one no handler can be set."""
        self.signals._stop(signal.SIGINT, None)

    def end(self):
        """End the process between two runs."""
        self.signals.ended = True
        self.wait_for_the_end()
        if self.error is not None:
            raise self.error

    def wait_for_the_end(self):
        """Wait until the process has ended."""
        give_up_ns = self.host.now_ns() + round(LONGEST_S * 1e9)
        while not self.over and self.host.now_ns() < give_up_ns:
            self.host.sleep(0.01)
        assert self.over

    def close(self):
        """Leave nothing behind."""
        self.time.close()
        self.memory.close()


@pytest.fixture
def operated(tmp_path, monkeypatch):
    """Starts a resident process of a config, in virtual time; no figure is drawn."""
    monkeypatch.setattr(resident, "draw", lambda *_: None)
    started = []

    def start(name="sim_impact", *overrides, **more):
        started.append(Operated(tmp_path, name, overrides, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def rig(operated):
    """A rig that waits for its operator, who holds the lease."""
    one = operated("sim_impact", *DRIVE)
    one.until(state="idle")
    one.take_lease()
    return one


def wrong(folder):
    """What `hil verify` finds wrong with a run."""
    return [check for check in verify(folder) if not check.ok]


def names(folder):
    return [name.decode() for name in read_trial(folder, trusted=True).events["name"].tolist()]


def first_of(folder, name):
    """The first event of that name in a record."""
    events = read_trial(folder, trusted=True).events
    return events[events["name"] == name.encode()][0]


def moved(folder):
    return bool(abs(read_trial(folder, trusted=True).tick["set_speed_radps"]).max() > 0.0)


def drives(rig):
    """Arm and start a drive; the folder of its run."""
    rig.ask(Arm())
    rig.until(state="armed")
    rig.ask(Start())
    rig.until(state="drive")
    return rig.folder / f"run_{rig.status['runs'] + 1}"


@pytest.fixture
def killed():
    """Kills a server, or the process above it; returns once that process is gone."""

    def kill(server, *, supervisor=False):
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        pid = server.pid if supervisor else int(children[0])
        os.kill(pid, signal.SIGKILL)
        while server.alive if supervisor else Path(f"/proc/{pid}").exists():
            time.sleep(0.01)

    return kill
