"""Stops of a client of `hil operate`, in real time, 0 to 50 ms after the command that begins a run: none is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, Jog, Start
from hil.operator.client import CommandClient, CommandError
from hil.operator.runtime_folder import read_token
from hil.recording import read_trial

pytestmark = pytest.mark.soak
STOP_BY_OPERATOR = int(Fault.STOP_BY_OPERATOR)
STOPS = int(os.environ.get("SOAK_STOPS", "200"))
SETTINGS = (
    "experiment=drive", "drive.steps=[{for_s: 60, speed_mps: 0.03}]", "telemetry.endpoint=''",
    "operator.console_lost=finish",
)  # fmt: skip


def run_is_over(number, status):
    return status["runs"] >= number and status["state"] == "idle"


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    command = [sys.executable, "-P", "-m", "hil.cli", "operate", "sim_impact", "--out", str(tmp_path / "out"), "--json"]
    command += [word for setting in SETTINGS for word in ("--set", setting)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        doors = json.loads(process.stdout.readline())
        with CommandClient(doors["command_endpoint"], token=read_token(Path(doors["token_file"])), name="Ada") as one:
            one.wait_until(lambda status: status.get("state") == "idle", within_s=600.0)
            yield one
        process.terminate()


def test_no_stop_that_was_answered_is_lost_whenever_it_comes_after_the_command_that_begins_a_run(client, tmp_path):
    draw, read = random.Random(1), 0
    for number in range(1, STOPS + 1):
        begin, stop = draw.choice([Jog(("all",), 0.02, 2.0), Arm()]), draw.choice(["e_stop", "stop"])
        with client.lease():
            client.ask(begin)
            time.sleep(draw.uniform(0.0, 0.05))
            getattr(client, stop)(f"number {number}")
            if isinstance(begin, Arm):
                with suppress(CommandError):  # a busy machine may have kept the client from its heartbeat
                    client.ask(Start())
            status = client.wait_until(partial(run_is_over, number), 60.0)
        assert status["runs"] == number
        assert (STOP_BY_OPERATOR in [fault["number"] for fault in status["faults"]]) == (stop == "e_stop"), number
        with client.lease():
            for fault in status["faults"]:
                client.clear(fault["number"])
            client.wait_until(lambda status: not status["faults"], 60.0)
        record = read_trial(tmp_path / "out" / f"run_{number}", trusted=True)
        asked = record.events[record.events["name"] == f"operator {stop}".encode()]
        since = (
            asked["tick"][0] if len(asked) else 0
        )  # a run that ended for its lease was over by then: it has not moved
        assert np.abs(record.tick["set_speed_radps"][record.tick["tick"] >= since]).max(initial=0.0) == 0.0, number
        read += len(asked)
    assert read > STOPS // 2
