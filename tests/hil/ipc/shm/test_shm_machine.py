"""The machine code in the source is the compiled atomics.ll, and other machines get an error."""

import platform
from pathlib import Path

import pytest

import hil.ipc.shm.mapped as machine_module
from hil.ipc.shm import UnsupportedMachine


def test_machine_code_is_what_the_source_compiles_to():
    compiler = pytest.importorskip("hil.ipc.shm.compile")
    held = compiler.TARGET.read_text(encoding="utf-8")
    version = ".".join(str(number) for number in compiler.llvm.llvm_version_info)
    if f"LLVM {version}:" not in held:
        pytest.skip(f"made by another LLVM than {version}: run python -m hil.ipc.shm.compile")
    assert held == compiler.source_text()


def test_counters_keep_order_on_a_machine_that_reorders():
    compiler = pytest.importorskip("hil.ipc.shm.compile")
    listing = compiler.assembly("aarch64")
    by_function = {name: listing.split(f"\n{name}:")[1].split(".cfi_endproc")[0] for name in compiler.functions()}
    assert "ldar" in by_function["load"]
    assert "stlr" in by_function["store"]
    for writer in ("publish", "append"):  # fence before the payload, release after it
        assert by_function[writer].rindex("stlr") > by_function[writer].index("dmb\tish")
    assert by_function["snapshot"].index("ldar") < by_function["snapshot"].index("dmb\tishld")
    assert "dmb\tishld" in by_function["fetch"]
    assert by_function["append"].count("ldar") == 1  # the cursors


def test_code_is_never_writable_and_executable_at_once():
    machine_module.functions()
    permissions = [
        line.split()[1] for line in Path("/proc/self/maps").read_text().splitlines() if "rover-hil-atomics" in line
    ]
    assert permissions == ["r-xp"]


@pytest.mark.parametrize(("system", "name"), [("Linux", "riscv64"), ("Windows", "AMD64"), ("Darwin", "arm64")])
def test_other_machines_are_refused_in_one_sentence(monkeypatch, system, name):
    monkeypatch.setattr(platform, "machine", lambda: name)
    monkeypatch.setattr(platform, "system", lambda: system)
    with pytest.raises(UnsupportedMachine, match=f"x86_64 and aarch64 Linux.*found {name} {system}") as error:
        machine_module.machine()
    assert "\n" not in str(error.value)


def test_system_that_runs_no_code_from_memory_is_refused_in_one_sentence(monkeypatch):
    def forbidden(*args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(machine_module.mmap, "mmap", forbidden)
    with pytest.raises(UnsupportedMachine, match="runs no code from memory"):
        machine_module.functions.__wrapped__()
