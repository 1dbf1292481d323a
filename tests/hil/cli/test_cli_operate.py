"""`hil operate` as a user runs it, led by a client of its command socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hil.bench.conditions import seconds_used as descendants
from hil.cli import run
from hil.messages.operator_input import Arm, ClearFault, Start
from hil.operator import client as client_module
from hil.operator.client import CommandClient, CommandError
from hil.operator.runtime_folder import read_token
from hil.recording.run_folder import summary_of

pytestmark = pytest.mark.slow
# A busy machine may keep a client from its heartbeat for half a second: runs go on then, and it takes the lease again.
SETTINGS = (
    "experiment=drive", "drive.steps=[{for_s: 600, speed_mps: 0.02}]", "operator.console_lost=finish",
    "telemetry.endpoint=''",
)  # fmt: skip
STOP_BY_OPERATOR = 18
PAGE = "page_server"


class Client(CommandClient):
    """An operator who asks again until it is done."""

    def insist(self, command, reached):
        while not reached(self.wait_until(lambda status: status)):
            with suppress(CommandError):
                self.take_lease()
                self.ask(command)
                self.wait_until(reached, within_s=5.0)

    def idle(self):
        """Wait until the rig is open; its kernels may have to be compiled first."""
        return self.wait_until(lambda status: status.get("state") == "idle", within_s=600.0)


@pytest.fixture
def operating(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    command = [sys.executable, "-P", "-m", "hil.cli", "operate", "sim_impact", "--out", str(tmp_path / "out"), "--json"]
    command.append("--page")
    command += [word for setting in SETTINGS for word in ("--set", setting)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        doors = json.loads(process.stdout.readline())
        yield process, doors
        with suppress(ProcessLookupError):
            process.kill()


@pytest.fixture
def client(operating):
    _, doors = operating
    with Client(doors["command_endpoint"], token=read_token(Path(doors["token_file"])), name="Ada") as one:
        one.idle()
        yield one


def server_of(process, name="command_server"):
    """Process id of its command server, or of another one; None: it is not there."""
    for pid in descendants(process.pid):
        with suppress(OSError):  # it is gone meanwhile
            if f"hil.processes\0{name}\0".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    return None


def test_a_client_leads_two_runs_and_clears_a_fault_between_them_and_sigterm_leaves_nothing_behind(
    operating, client, tmp_path, monkeypatch
):
    monkeypatch.setattr(client_module, "ANSWER_S", 60.0)  # its server lives, however late it answers
    process, doors = operating
    for number, end in ((1, client.e_stop), (2, client.stop)):
        client.insist(Arm(), lambda status: status["state"] == "armed")
        client.insist(Start(), lambda status: status["state"] == "drive")
        end("seen enough")
        status = client.wait_until(lambda status: status["state"] == "idle" and not status["running"])
        assert bool(status["faults"]) == (number == 1)
        if number == 1:
            client.insist(Arm(), lambda status: "arm refused" in status["message"])
            client.insist(ClearFault(STOP_BY_OPERATOR), lambda status: not status["faults"])
    client.stop_heartbeat()
    left = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    assert [pid for pid in left if os.path.exists(f"/proc/{pid}")] == []
    assert not Path(doors["token_file"]).exists()
    runs = sorted((tmp_path / "out").iterdir())
    reasons = [reason for run in runs for reason in summary_of(run)["reasons"]]
    assert "fault 18: seen enough" in reasons
    assert "ended by the operator" in reasons


@pytest.mark.soak
def test_a_command_server_that_was_killed_starts_again_with_the_same_endpoint_and_token(operating, client):
    process, _ = operating
    first = server_of(process)
    os.kill(first, signal.SIGKILL)
    while True:
        with suppress(CommandError):
            client.idle()
            client.take_lease()
            break
    assert server_of(process) not in (None, first)


@pytest.mark.soak
def test_the_printed_address_opens_the_page_also_after_its_server_was_killed(operating):
    process, doors = operating
    url = urlsplit(doors["url"])
    assert url.fragment.removeprefix("token=") not in ("", Path(doors["page_token_file"]).read_text().strip())
    first = server_of(process, PAGE)
    os.kill(first, signal.SIGKILL)
    while server_of(process, PAGE) in (first, None):
        pass
    while True:
        with suppress(OSError):
            connection = HTTPConnection(url.netloc)
            connection.request("GET", "/")
            break
    assert connection.getresponse().status == 401
    connection.close()


def test_a_plan_that_is_not_there_is_wrong_usage(capsys):
    assert run(["operate", "sim_impact", "--plan", "no_such_plan"]) == 2
    assert "no_such_plan" in capsys.readouterr().err
