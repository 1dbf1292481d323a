"""With CURVE keys, only clients whose key is in the folder are answered at all."""

from __future__ import annotations

import os

import pytest

from hil.ipc.shared_types import CommandMemory
from hil.messages.operator_input import Arm, EStop
from hil.operator.client import CommandClient
from hil.operator.curve import KeysError, prove, read_key_pair, read_public_key
from hil.operator.sockets import CommandSocket, SharedCommands

TOKEN = bytes(range(32))


def test_a_client_with_an_allowed_key_is_obeyed_and_shown_with_the_name_of_its_key(keyed_rig, keys):
    rig, public = keyed_rig
    secret, _ = keys("anna", allowed=True)  # the folder is read for each connection
    with CommandClient(rig.endpoint, keys=(secret, public), name="console") as anna, anna.lease():
        anna.arm()
        assert rig.lease() == "anna: console"
    assert rig.commands() == [Arm()]


def test_with_keys_the_socket_opens_for_other_computers(command_rig, keys, tmp_path):
    (secret, public), (own, _) = keys("rig"), keys("anna", allowed=True)
    rig = command_rig(tmp_path, "tcp://0.0.0.0:*", secret=secret, clients=tmp_path / "clients")
    with CommandClient(rig.endpoint.replace("0.0.0.0", "127.0.0.1"), keys=(own, public)) as anna:
        anna.e_stop()
    assert rig.commands() == [EStop()]
    rig.close()


def test_a_client_with_another_key_gets_no_answer(keyed_rig, keys, unanswered):
    rig, public = keyed_rig
    secret, _ = keys("eva")
    assert "with these keys" in unanswered(rig.endpoint, keys=(secret, public))
    assert rig.refused(1)
    assert rig.commands() == []


def test_a_client_without_a_key_or_with_a_token_gets_no_answer(keyed_rig, unanswered):
    rig, _ = keyed_rig
    unanswered(rig.endpoint)
    unanswered(rig.endpoint, token=TOKEN)
    assert rig.commands() == []


def test_a_client_that_takes_another_computer_for_the_rig_gets_no_answer(keyed_rig, keys, unanswered):
    rig, _ = keyed_rig
    secret, public_of_another = keys("anna", allowed=True)
    unanswered(rig.endpoint, keys=(secret, public_of_another))
    assert rig.commands() == []


def test_a_key_that_was_removed_does_not_get_in_again(keyed_rig, keys, tmp_path, unanswered):
    rig, public = keyed_rig
    secret, own = keys("anna", allowed=True)
    CommandClient(rig.endpoint, keys=(secret, public)).close()
    (tmp_path / "clients" / own.name).unlink()
    unanswered(rig.endpoint, keys=(secret, public))


def test_garbage_over_an_allowed_connection_changes_nothing(keyed_rig, keys):
    rig, public = keyed_rig
    secret, _ = keys("anna", allowed=True)
    own, server = read_key_pair(secret), read_public_key(public)
    frames = [b"", b"x" * 5000, os.urandom(300), [b"a", b"b"]]
    rig.send_raw(frames, lambda socket: prove(socket, own, server))
    assert rig.refused(len(frames)) == len(frames)
    assert rig.commands() == []


def test_a_secret_key_that_others_can_read_opens_no_socket(keys, tmp_path):
    secret, _ = keys("rig")
    secret.chmod(0o640)
    memory = CommandMemory(tmp_path / "memory", create=True)
    with pytest.raises(KeysError, match=r"other users can read this secret key \(mode 640\): chmod 600"):
        CommandSocket("tcp://127.0.0.1:*", SharedCommands(memory), secret=secret, clients=tmp_path / "clients")
    memory.close()
