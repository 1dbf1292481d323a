"""Clients find a running program of their own user, and nobody else finds or deceives them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hil.operator.client import CommandClient, CommandError
from hil.operator.runtime_folder import (
    Running,
    RuntimeFolder,
    RuntimeFolderError,
    find_running,
    read_token,
    runtime_root,
)

KILLED = """
import os, signal
from hil.operator.runtime_folder import Running, RuntimeFolder
folder = RuntimeFolder.make()
folder.announce(Running(os.getpid(), "rig", "tcp://127.0.0.1:9", str(folder.new_token())))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "rover-hil"


def running(folder, config="rig"):
    return Running(os.getpid(), config, "tcp://127.0.0.1:9", str(folder.path / "token"))


def test_a_running_program_is_found_until_it_ends(root):
    folder = RuntimeFolder.make()
    assert find_running() == []  # it has no socket yet
    folder.announce(running(folder))
    assert find_running() == [running(folder)]
    folder.close()
    folder.close()
    assert find_running() == []
    assert list(root.iterdir()) == []


def test_only_the_owner_can_open_what_is_there(root):
    mask = os.umask(0)
    try:
        folder = RuntimeFolder.make()
        token = folder.new_token()
    finally:
        os.umask(mask)
    assert root.stat().st_mode & 0o777 == 0o700
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert token.stat().st_mode & 0o777 == 0o600
    folder.close()


def test_each_start_has_another_token_of_256_bits():
    folders = [RuntimeFolder.make() for _ in range(3)]
    tokens = {read_token(folder.new_token()) for folder in folders}
    assert len(tokens) == 3
    assert {len(token) for token in tokens} == {32}
    for folder in folders:
        folder.close()


def test_what_a_killed_program_has_left_is_not_found_and_goes_with_the_next_start(root):
    subprocess.run([sys.executable, "-c", KILLED], check=False, timeout=120)
    assert len(list(root.iterdir())) == 1
    assert find_running() == []
    folder = RuntimeFolder.make()
    assert list(root.iterdir()) == [folder.path]
    folder.close()


@pytest.mark.parametrize("mode", [0o755, 0o740, 0o710, 0o704, 0o701, 0o720, 0o702])
def test_a_root_that_others_can_open_is_refused(root, mode):
    root.mkdir()
    root.chmod(mode)
    with pytest.raises(RuntimeFolderError, match=f"mode {mode:o}; allowed: a folder of user"):
        runtime_root()


def test_a_root_of_another_user_is_refused(root, monkeypatch):
    root.mkdir(mode=0o700)
    monkeypatch.setattr("os.getuid", lambda: root.stat().st_uid + 1)
    with pytest.raises(RuntimeFolderError, match=f"user {root.stat().st_uid}, mode 700; allowed"):
        runtime_root()


def test_a_link_in_place_of_the_root_is_refused(root, tmp_path):
    """Another user could have made it in a folder that all can write to."""
    (tmp_path / "trap").mkdir(mode=0o700)
    root.symlink_to(tmp_path / "trap")
    with pytest.raises(RuntimeFolderError, match="allowed: a folder of user"):
        RuntimeFolder.make()


def test_without_a_runtime_folder_of_the_system_it_is_among_temporary_files(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert runtime_root() == tmp_path / f"rover-hil-{os.getuid()}"


@pytest.fixture
def taken(tmp_path, monkeypatch):
    """The folder for temporary files, where something that is no folder of this user has the name of ours."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    name = tmp_path / f"rover-hil-{os.getuid()}"
    if os.getuid() == 0:
        name.mkdir(mode=0o700)
        os.chown(name, 12345, -1)
    else:
        name.write_text("")
    return name


def test_another_user_who_takes_the_name_first_keeps_nobody_from_starting(taken):
    folders = [RuntimeFolder.make() for _ in range(2)]
    (root,) = {folder.path.parent for folder in folders}
    assert root != taken
    assert root.parent == taken.parent
    assert root.stat().st_mode & 0o777 == 0o700
    for folder in folders:
        folder.announce(running(folder))
    assert len(find_running()) == 2
    for folder in folders:
        folder.close()
    assert find_running() == []


def test_a_program_is_still_found_when_the_name_is_free_again(taken):
    folder = RuntimeFolder.make()
    folder.announce(running(folder))
    taken.rmdir() if taken.is_dir() else taken.unlink()
    assert find_running() == [running(folder)]
    folder.close()


def test_a_link_with_a_random_name_is_not_taken_for_a_folder_of_this_user(taken, tmp_path):
    (tmp_path / "trap").mkdir(mode=0o700)
    link = tmp_path / f"{taken.name}-0"
    link.symlink_to(tmp_path / "trap")
    assert runtime_root() not in (link, taken)


@pytest.mark.parametrize("content", [b"", b"xyz", b"\xff\xfe", b"00" * 31, b"00" * 33])
def test_a_file_that_holds_no_token_is_named(tmp_path, content):
    file = tmp_path / "token"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(RuntimeFolderError, match=r"token: .*allowed: "):
        read_token(file)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_token_that_others_can_read_is_refused(tmp_path, mode):
    file = tmp_path / "token"
    file.write_text("00" * 32)
    file.chmod(mode)
    with pytest.raises(RuntimeFolderError, match=rf"mode {mode:o}\): chmod 600"):
        read_token(file)


def test_a_client_says_what_to_do_where_none_or_several_run():
    with pytest.raises(CommandError, match="start one with `hil operate CONFIG`"):
        CommandClient.running()
    folders = [RuntimeFolder.make() for _ in range(2)]
    for folder in folders:
        folder.announce(running(folder))
    with pytest.raises(CommandError, match="2 hil operate are running, name one by its endpoint"):
        CommandClient.running()
    for folder in folders:
        folder.close()
