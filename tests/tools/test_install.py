"""tools/install.py: the settings passed from pip to uv, and the fallback without uv."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ABSENT

_SOURCE = Path(__file__).resolve().parents[2] / "tools" / "install.py"
_SPEC = importlib.util.spec_from_file_location("install", _SOURCE)
assert _SPEC
assert _SPEC.loader
install = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(install)

LISTING = """\
global.index-url='https://lab.example/simple'
install.index-url='https://install.example/simple'
global.extra-index-url='\\nhttps://one.example/simple\\nhttps://two.example/simple'
:env:.find-links='/wheels /more'
global.cert='/lab.pem'
"""


def test_pip_settings_of_the_environment_win_over_install_and_those_over_global():
    settings = install.pip_settings(LISTING + ":env:.cert='/mine.pem'\n")
    assert settings["index-url"] == "https://install.example/simple"
    assert settings["cert"] == "/mine.pem"


def test_uv_is_given_the_indexes_folders_and_certificate_of_pip():
    passed = install.uv_environment(install.pip_settings(LISTING), {"PATH": "/bin"})
    assert passed == {
        "PATH": "/bin",
        "UV_INDEX_URL": "https://install.example/simple",
        "UV_EXTRA_INDEX_URL": "https://one.example/simple https://two.example/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "SSL_CERT_FILE": "/lab.pem",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_an_index_of_uvs_own_is_left_alone():
    own = {"UV_DEFAULT_INDEX": "https://mine.example/simple", "SSL_CERT_FILE": "/own.pem"}
    passed = install.uv_environment(install.pip_settings(LISTING), own)
    assert passed.items() >= own.items()
    assert "UV_INDEX_URL" not in passed
    assert "UV_EXTRA_INDEX_URL" not in passed


@pytest.mark.parametrize(
    ("prints", "version"),
    [("uv 0.13.8 (x86_64-unknown-linux-gnu)", (0, 13, 8)), ("uv of another kind", ()), (None, ())],
)
def test_a_uv_that_tells_no_version_is_none(tmp_path, prints, version):
    program = tmp_path / "uv"
    if prints is not None:
        program.write_text(f"#!/bin/sh\necho '{prints}'\n")
        program.chmod(0o755)
    assert install.version_of(program) == version


def _installer(monkeypatch, tmp_path, uv):
    """An environment whose commands are recorded and not run."""
    commands: list[list[str]] = []

    def run(command, **_):
        commands.append([str(part) for part in command])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(install.subprocess, "run", run)
    installer = install.Installer(tmp_path / "venv")
    monkeypatch.setattr(installer, "uv", lambda: uv)
    return installer, commands


def test_pip_installs_the_lock_with_its_hashes_where_uv_cannot_be_had(monkeypatch, tmp_path, capsys):
    installer, commands = _installer(monkeypatch, tmp_path, None)
    installer.install("requirements.lock")
    installer.install_project()
    assert "uv is not available" in capsys.readouterr().out
    packages, project = [command for command in commands if "install" in command]
    assert "--require-hashes" in packages
    assert packages[-1].endswith("requirements.lock")
    assert {"--no-deps", "--editable"} <= set(project)


def test_pip_installs_the_lock_where_uv_fails(monkeypatch, tmp_path, capsys):
    installer, commands = _installer(monkeypatch, tmp_path, "/bin/false")
    monkeypatch.setattr(installer, "_run_uv", lambda _: False)
    installer.install("requirements.lock")
    assert "uv failed" in capsys.readouterr().out
    assert any("--require-hashes" in command for command in commands)


def test_an_install_that_fails_leaves_no_stamp(monkeypatch, tmp_path, capsys):
    folder = tmp_path / "venv"
    folder.mkdir()
    for name in (".installed", ".installed-dev"):
        (folder / name).touch()

    def fail(self, lock):
        raise subprocess.CalledProcessError(1, ["pip"])

    monkeypatch.setattr(install.Installer, "install", fail)
    assert install.main([str(folder)]) == 1
    assert "could not be made" in capsys.readouterr().err
    assert not list(folder.glob(".installed*"))


def test_an_install_is_complete_where_its_kernels_cannot_be_compiled(monkeypatch, tmp_path):
    folder = tmp_path / "venv"
    folder.mkdir()
    for name in ("prepare", "install_project", "compile_bytecode"):
        monkeypatch.setattr(install.Installer, name, lambda _: None)
    monkeypatch.setattr(install.Installer, "install", lambda *_: None)
    monkeypatch.setattr(install.Installer, "kernels", lambda _: ["false"])
    assert install.main([str(folder)]) == 0
    assert (folder / ".installed").exists()


@pytest.mark.slow
def test_the_whole_suite_leaves_no_test_out_for_a_package():
    left_out = {"atheris"} if sys.version_info >= (3, 14) else set()
    assert left_out >= ABSENT, "make install-dev"
