"""The command server and the resident process share commands, the lease and the status; nobody else opens them."""

from __future__ import annotations

import numpy as np
import pytest

from hil.ipc.shared_types import LEASE, STATUS, CommandMemory, OperatorWriter, SharedOperator
from hil.ipc.shm import ShmError
from hil.messages.operator_input import Arm, Stop


@pytest.fixture
def both(tmp_path):
    resident = CommandMemory(tmp_path / "commands", create=True)
    server = CommandMemory(tmp_path / "commands", create=False)
    yield resident, server
    server.close()
    resident.close()


def test_commands_lease_and_status_reach_the_other_process(both):
    resident, server = both
    assert OperatorWriter(server.commands).put(Arm())
    assert SharedOperator(resident.commands).read() == (Arm(),)
    server.lease.write(np.array([(b"pult", 1, 123)], LEASE))
    lease = np.zeros(1, LEASE)
    assert resident.lease.read(lease) == 1
    assert lease[0].item() == (b"pult", 1, 123)
    resident.status.write(np.array([(b'{"state":"idle"}',)], STATUS))
    status = np.zeros(1, STATUS)
    assert server.status.read(status) == 1
    assert status["content"].item() == b'{"state":"idle"}'


def test_commands_of_a_server_that_ended_are_not_lost(both):
    resident, server = both
    OperatorWriter(server.commands).put(Stop("enough"))
    server.close()
    again = CommandMemory(resident.folder, create=False)
    OperatorWriter(again.commands).put(Arm())
    again.close()
    assert SharedOperator(resident.commands).read() == (Stop("enough"), Arm())


def test_only_the_owner_may_open_them(both):
    resident, _ = both
    assert resident.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in resident.folder.iterdir()} == {0o600}


def test_memory_is_made_once(both):
    resident, _ = both
    with pytest.raises(FileExistsError):
        CommandMemory(resident.folder, create=True)


def test_a_file_that_is_no_command_memory_is_refused(tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "commands").write_bytes(b"x" * 100)
    with pytest.raises(ShmError, match="not shared memory of ours"):
        CommandMemory(folder, create=False)
