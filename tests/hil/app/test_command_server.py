"""The command server has a process of its own: it can be lost and started again, and takes its secrets with it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from drivers.interfaces import DeviceError
from hil.app.server_process import CommandServer
from hil.config import load_config
from hil.ipc.shared_types import SharedOperator
from hil.messages.operator_input import NOTICES, Stop
from hil.operator.client import CommandClient, CommandError
from hil.operator.curve import new_keys
from hil.operator.runtime_folder import find_running
from hil.realtime import RealtimeRight

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "rover-hil"


def restarted(server):
    """Start it again; what it started before may need a moment to let go of its port."""
    while True:
        with suppress(DeviceError):
            return server.restart()


def until_accepted(client):
    """Ask for a stop until the server is there."""
    while True:
        with suppress(CommandError):
            return client.stop("after")


def commands(server):
    return [one for one in SharedOperator(server.memory.commands).read() if not isinstance(one, NOTICES)]


@pytest.mark.parametrize("supervisor", [False, True])
def test_a_server_that_was_killed_or_the_process_above_it_starts_again_for_the_same_clients(root, killed, supervisor):
    with CommandServer(load_config("sim_impact").operator, "sim_impact") as server:
        with CommandClient.running() as anna:
            anna.stop("before")
            endpoint, token = server.endpoint, server.token_file.read_text()
            killed(server, supervisor=supervisor)
            if supervisor:
                restarted(server)
            assert (server.endpoint, server.token_file.read_text()) == (endpoint, token)
            until_accepted(anna)
        first, *others = commands(server)
        assert first == Stop("before")
        assert set(others) == {Stop("after")}
        assert [one.pid for one in find_running()] == [os.getpid()]
    assert list(root.iterdir()) == []


def test_a_server_goes_before_other_programs_where_it_may():
    with CommandServer(load_config("sim_impact").operator, "sim_impact") as server:
        (niceness,) = server.granted
        (child,) = [int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]
        expected = int(niceness.wanted) if niceness.granted else os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, child) == expected
        assert bool(server.refused_rights) != niceness.granted
        server.granted = (RealtimeRight("niceness", "-10", False, "refused: Permission denied"),)
        text = "command server without niceness -10, so a stop may wait there: refused: Permission denied"
        assert server.refused_rights == [text]


def test_with_keys_there_is_no_token(tmp_path):
    _, secret = new_keys("rig", tmp_path / "keys")
    public, own = new_keys("anna", tmp_path / "keys")
    (tmp_path / "clients").mkdir(mode=0o700)
    (tmp_path / "clients" / "anna.key").write_bytes(public.read_bytes())
    keys = f"operator.keys={{secret: {secret}, clients: {tmp_path / 'clients'}}}"
    with CommandServer(load_config("sim_impact", [keys]).operator, "sim_impact") as server:
        assert server.token_file is None
        with CommandClient(server.endpoint, keys=(own, secret.with_suffix(".key"))) as anna:
            anna.stop()
        assert commands(server) == [Stop()]


def test_a_socket_that_cannot_be_opened_is_an_error_in_a_sentence_and_leaves_nothing(root, tmp_path):
    keys = f"operator.keys={{secret: {tmp_path / 'no.key_secret'}, clients: {tmp_path}}}"
    with pytest.raises(DeviceError, match=r"command server: .*no\.key_secret: .*hil keys new"):
        CommandServer(load_config("sim_impact", [keys]).operator, "sim_impact")
    assert list(root.iterdir()) == []


def test_a_port_in_use_is_named():
    with CommandServer(load_config("sim_impact").operator, "sim_impact") as server:
        config = load_config("sim_impact", [f"operator.endpoint={server.endpoint}"])
        with pytest.raises(DeviceError, match="Address already in use"):
            CommandServer(config.operator, config.name)
