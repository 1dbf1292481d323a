"""`hil command` reaches the running `hil operate` of this user, and says in a sentence why it does not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from hil.cli import run
from hil.ipc.shared_types import STATUS
from hil.messages.fault import CONSOLE_SILENT_NS
from hil.messages.operator_input import (
    Arm,
    Campaign,
    ClearFault,
    Custom,
    EStop,
    Jog,
    JogJoint,
    Mode,
    SetLoads,
    SetPoint,
    Start,
    Stop,
    Valve,
    Verdict,
)
from hil.operator.client import CommandClient, own_name
from hil.operator.runtime_folder import find_running

NEED_THE_LEASE = {
    "clear 18": ClearFault(18),
    "set-point speed_mps 0.05": SetPoint("speed_mps", 0.05),
    "mode hold": Mode("hold"),
    "set-loads share --share 0.5 --share 0.5": SetLoads("share", (0.5, 0.5)),
    "verdict keep good": Verdict("keep", "good"),
    "campaign pause": Campaign("pause"),
    "custom gait walk": Custom("gait", "walk"),
}
NEED_A_CONSOLE = {
    "arm": Arm(),
    "start": Start(),
    "jog --speed 0.05 --for 1 --wheel front_left --wheel rear_left": Jog(("front_left", "rear_left"), 0.05, 1.0),
    "jog --joint mast --angle -5 --for 1": JogJoint("mast", -5.0, 5.0, 1.0),
    "jog --joint mast --angle 3 --rate 2 --for 1": JogJoint("mast", 3.0, 2.0, 1.0),
    "valve left extend --for 0.5": Valve("left", "extend", 0.5),
    "campaign start --operator anna": Campaign("start", "anna"),
}


@pytest.fixture(autouse=True)
def rig(found_rig):
    """Nobody reads its commands but the test."""
    found_rig.memory.status.write(np.array([(b'{"state":"idle","message":"ready"}',)], STATUS))
    return found_rig


def test_stops_need_nothing_but_the_token(rig):
    assert run(["command", "stop", "enough"]) == 0
    assert run(["command", "e-stop"]) == 0
    assert rig.commands() == [Stop("enough"), EStop()]


@pytest.mark.parametrize("line", NEED_THE_LEASE)
def test_a_command_takes_the_lease_for_itself_and_releases_it(rig, line):
    assert run(["command", *line.split()]) == 0
    assert rig.commands() == [NEED_THE_LEASE[line]]
    assert rig.lease() is None


@pytest.mark.parametrize("line", NEED_A_CONSOLE)
def test_what_moves_is_sent_only_while_a_console_holds_the_lease(rig, capsys, line):
    assert run(["command", *line.split()]) == 2
    assert "add --hold, or keep `hil command lease --hold` running" in capsys.readouterr().err
    assert rig.commands() == []
    with CommandClient.running(own_name()) as console:
        console.take_lease()
        assert run(["command", *line.split()]) == 0
        assert rig.lease() == own_name()
        console.release_lease()
    assert rig.commands() == [NEED_A_CONSOLE[line]]


def test_the_lease_of_another_client_is_respected_and_its_name_said(rig, capsys):
    with CommandClient.running("ben") as ben, ben.lease():
        assert run(["command", "clear", "18"]) == 1
        assert "ben holds the operator lease" in capsys.readouterr().err
        assert run(["command", "lease"]) == 0
        assert capsys.readouterr().out == "held by ben; it has been asked for it\n"
        assert run(["command", "e-stop"]) == 0
    assert rig.commands() == [EStop()]


def test_the_lease_is_given_from_any_terminal_to_the_client_that_waits_for_it(rig, capsys):
    with CommandClient.running(own_name()) as console, CommandClient.running("ben") as ben:
        console.take_lease()
        assert run(["command", "lease", "--give"]) == 1
        assert "nobody asks for the operator lease" in capsys.readouterr().err
        waits = threading.Thread(target=ben.wait_for_lease)
        waits.start()
        while console.status() and console.lease_state.asked_by != "ben":
            pass
        assert run(["command", "lease", "--give"]) == 0
        waits.join()
        assert capsys.readouterr().out == "given to ben\n"
        assert rig.lease() == "ben"
        ben.arm()
    assert rig.commands() == [Arm()]


def test_status_is_printed_for_people_and_for_programs(capsys):
    assert run(["command", "status"]) == 0
    assert capsys.readouterr().out == "state: idle\nmessage: ready\n"
    assert run(["command", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"state": "idle", "message": "ready"}


def test_an_endpoint_and_its_token_can_be_named(rig):
    assert run(["command", "stop", "--endpoint", rig.endpoint, "--token-file", find_running()[0].token_file]) == 0
    assert rig.commands() == [Stop()]


def test_a_client_on_another_computer_names_its_keys(command_rig, tmp_path, capsys):
    for name in ("rig", "anna"):
        assert run(["keys", "new", name, "--out", str(tmp_path / "keys")]) == 0
    (tmp_path / "clients").mkdir(mode=0o700)
    (tmp_path / "clients" / "anna.key").write_bytes((tmp_path / "keys" / "anna.key").read_bytes())
    (tmp_path / "keyed").mkdir()
    keyed = command_rig(tmp_path / "keyed", secret=tmp_path / "keys" / "rig.key_secret", clients=tmp_path / "clients")
    keys = ["--key", str(tmp_path / "keys" / "anna.key_secret"), "--server-key", str(tmp_path / "keys" / "rig.key")]
    assert run(["command", "clear", "18", "--endpoint", keyed.endpoint, *keys]) == 0
    assert keyed.commands() == [ClearFault(18)]
    keyed.close()


@pytest.mark.slow
def test_the_console_keeps_the_lease_until_ctrl_c(rig):
    arguments = [sys.executable, "-m", "hil.cli", "command", "arm", "--hold"]
    console = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    words = [console.stderr.readline() for _ in range(3)]
    assert rig.lease() == own_name()
    assert run(["command", "start"]) == 0  # of the same client, from another terminal
    console.send_signal(signal.SIGINT)
    assert console.wait() == 0
    assert words[0] == "hil: arm: accepted\n"
    assert "holds the operator lease until Ctrl-C" in words[1]
    assert words[2] == "hil: ready\n"
    assert rig.lease() is None
    console.stderr.close()
    assert rig.commands() == [Arm(), Start()]


@pytest.mark.slow
def test_a_console_whose_lease_is_lost_says_so_and_ends(rig):
    arguments = [sys.executable, "-m", "hil.cli", "command", "lease", "--hold"]
    console = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    assert "holds the operator lease until Ctrl-C" in console.stderr.readline()
    rig.t_ns += CONSOLE_SILENT_NS + 1
    assert console.wait() == 1
    assert "the operator lease was lost" in console.stderr.read()
    console.stderr.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("stop --endpoint tcp://127.0.0.1:9", "--endpoint needs --token-file, or --key and --server-key"),
        ("stop --token-file x", "go with --endpoint"),
        ("stop --endpoint nonsense --token-file {token}", "allowed: tcp://ADDRESS:PORT"),
        ("stop --endpoint tcp://127.0.0.1:9 --token-file /nowhere", "the token file that hil operate names"),
        ("stop --endpoint tcp://127.0.0.1:9 --key /nowhere --server-key /nowhere", "hil keys new"),
        ("set-loads nonsense", "Invalid enum value 'nonsense'"),
        ("stop --name two\u00a0words", "hello: a name, 1 to 30"),
    ],
)
def test_wrong_use_ends_with_status_2_and_a_sentence(rig, capsys, line, words):
    assert run(["command", *line.format(token=find_running()[0].token_file).split(" ")]) == 2
    assert words in " ".join(capsys.readouterr().err.replace("│", "").split())
    assert rig.commands() == []


def test_where_nothing_runs_it_says_how_to_start(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "other"))
    (tmp_path / "other").mkdir()
    assert run(["command", "stop"]) == 2
    assert "start one with `hil operate CONFIG`" in capsys.readouterr().err


def test_new_keys_are_made_and_never_written_over(tmp_path, capsys):
    assert run(["keys", "new", "anna", "--out", str(tmp_path / "keys")]) == 0
    assert {file.name for file in (tmp_path / "keys").iterdir()} == {"anna.key", "anna.key_secret"}
    assert "anna.key_secret: secret key, stays on this computer" in capsys.readouterr().out
    assert run(["keys", "new", "anna", "--out", str(tmp_path / "keys")]) == 2
    assert "a key is never written over" in capsys.readouterr().err
