"""Two runs on one rig: the second is refused with the owner's process id, and the first continues."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import BaseModel

import hil
from drivers.interfaces import DeviceError
from drivers.ni.entry import NI_LOADS, physical_channel
from hil.app.backends import RigLock
from hil.cli import run
from hil.config import load_config

ROOT = Path(hil.__path__[0]).parent
HERE = f"nowhere-{os.getpid()}:1"  # tests running in parallel use other rigs
HOLDER = """
import sys
from hil.app.backends import RigLock
from hil.config import load_config
config = load_config(sys.argv[1], sys.argv[2:])
with RigLock(config.rig, config.devices):
    print("held", flush=True)
    sys.stdin.read()
"""


def locked(config):
    return RigLock(config.rig, config.devices)


def overrides(folder: Path, drives: str = "drives", valves: str = "valves", server: str = HERE) -> list[str]:
    for name in (drives, valves):
        (folder / name).touch()
    return [
        f"devices.drives.ports=[{folder / drives}]",
        f"devices.valves.port={folder / valves}",
        f"devices.daq.server={server}",
    ]


@contextmanager
def another_process(folder: Path, server: str = HERE) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the lock of the rig until it is killed."""
    command = [sys.executable, "-c", HOLDER, "mars_dome", *overrides(folder, server=server)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)}
    ) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    """The folder of the rig's ports."""
    return tmp_path_factory.mktemp("ports")


@pytest.fixture(scope="module")
def holder(ports):
    """Another process that holds the lock of the rig; no test ends it."""
    with another_process(ports) as process:
        yield process


def test_a_second_run_is_refused_with_the_owners_process_before_anything_is_opened(
    holder, ports, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    arguments = [part for override in overrides(ports) for part in ("--set", override)]
    assert run(["trial", "mars_dome", "--out", "run", *arguments]) == 2
    assert f"process {holder.pid} is running on this rig" in capsys.readouterr().err
    assert holder.poll() is None
    assert not Path("run").exists()


@pytest.mark.parametrize(
    "others",
    [
        {"valves": "other-valves", "server": f"else{HERE}"},
        {"drives": "other-drives", "server": f"else{HERE}"},
        {"drives": "other-drives", "valves": "other-valves", "server": HERE.upper()},
    ],
)
def test_one_device_in_common_is_enough(holder, ports, others):
    with pytest.raises(DeviceError, match=f"process {holder.pid} "):
        locked(load_config("mars_dome", overrides(ports, **others)))


def test_a_port_by_another_name_is_the_same_port(holder, ports):
    (ports / "by-id").symlink_to(ports / "drives")
    with pytest.raises(DeviceError, match=f"process {holder.pid} "):
        locked(load_config("mars_dome", overrides(ports, drives="by-id", server=f"else{HERE}")))


def test_another_rig_is_free(holder, ports):
    others = overrides(ports, drives="other-drives", valves="other-valves", server=f"else{HERE}")
    for _ in range(2):  # and again once it is released
        with locked(load_config("mars_dome", others)):
            pass


def test_a_run_that_was_refused_holds_nothing(holder, ports):
    with pytest.raises(DeviceError):
        locked(load_config("mars_dome", overrides(ports, drives="other-drives")))
    free = overrides(ports, drives="other-drives", valves="other-valves", server=f"else{HERE}")
    locked(load_config("mars_dome", free)).close()


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_the_rig_free(tmp_path):
    server = f"its-own-{HERE}"
    with another_process(tmp_path, server) as process:
        process.kill()
        process.wait()
        locked(load_config("mars_dome", overrides(tmp_path, server=server))).close()


def test_simulated_rigs_need_no_lock():
    config = load_config("sim_impact")
    with locked(config), locked(config):
        pass


@pytest.mark.parametrize(
    ("other", "same"),
    [("localhost:31763", True), ("LocalHost:31763", True), ("127.0.0.1:31763", True), ("127.0.0.1:31764", False)],
)
def test_a_chassis_behind_a_device_server_is_the_same_by_any_name_of_this_computer(other, same):
    first, second = (physical_channel("a key", "cDAQ1Mod1/ai0", server) for server in ("127.0.0.1:31763", other))
    assert (first.reserved == second.reserved) is same


def test_load_channels_on_a_device_server_in_common_are_enough(holder, ports):
    config = load_config(
        "mars_dome", overrides(ports, drives="other-drives", valves="other-valves", server=f"else{HERE}")
    )
    loads = NI_LOADS.settings(driver="ni", server=HERE, inputs=[{"channel": "pull", "input": "cDAQ1Mod4/ai0"}])
    with_loads = config.devices.model_copy(update={"loads": loads})
    with pytest.raises(DeviceError, match=rf"cdaq1 on {HERE}: process {holder.pid} "):
        locked(BaseModel.model_copy(config, update={"devices": with_loads}))


@pytest.mark.slow
def test_a_port_that_another_program_has_open_is_refused_with_its_name(tmp_path):
    """A terminal or the maker's program asks for no lock, and could drive all the same."""
    settings = overrides(tmp_path, server=f"opened{HERE}")
    reader = "import sys; port = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", reader, str(tmp_path / "valves")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        said = rf"valves: process {other.pid} \(python.*\) has this port open, and could drive its devices"
        with pytest.raises(DeviceError, match=said):
            locked(load_config("mars_dome", settings))
        other.communicate()
    locked(load_config("mars_dome", settings)).close()
