"""The plug-in as somebody else has it: in another folder, with nothing of ours around."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hil
import hil.testing
import hil.testing.plugin

ROOT = Path(hil.__path__[0]).parent
HEAVY = ("numpy", "numba", "msgspec", "pydantic", "serial", "grpc", "scipy", "drivers.sim", "models")
OUTSIDER = """
import serial


def ask(path, line):
    with serial.Serial(path, 115200, timeout=30.0) as port:
        port.write(line + b"\\r")
        port.read_until(b"\\r")  # the echo
        return port.read_until(b"\\r")


def test_my_program_reads_the_speed(simulated_roboteq):
    simulated_roboteq.wheels[0].inertia_kgm2 = 1e9
    simulated_roboteq.wheels[0].speed_radps = 1.0
    assert ask(simulated_roboteq.path, b"?S 1") == b"S=955\\r"


def test_my_program_sees_the_stop(simulated_roboteq):
    simulated_roboteq.press_e_stop()
    assert ask(simulated_roboteq.path, b"?FF") == b"FF=16\\r"
"""


def outside(folder, *arguments):
    """pytest as an outsider runs it; what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("-p", "hil.testing"), ("-p", "hil.testing.plugin")])
def test_a_test_in_a_throw_away_folder_uses_the_fixtures(tmp_path, how):
    (tmp_path / "test_mine.py").write_text(OUTSIDER)
    status, printed = outside(tmp_path, *how)
    assert status == 0, printed
    assert "2 passed" in printed


@pytest.mark.slow
def test_the_example_of_the_tutorial_passes_from_a_throw_away_folder(tmp_path):
    (tmp_path / "test_relay_board.py").write_text((ROOT / "examples" / "test_relay_board.py").read_text())
    status, printed = outside(tmp_path, "-p", "hil.testing")
    assert status == 0, printed
    assert "5 passed" in printed


@pytest.mark.slow
def test_the_plugin_imports_nothing_heavy_until_a_fixture_is_used(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        f"import sys\ndef test_nothing():\n    assert not [one for one in {HEAVY!r} if one in sys.modules]\n"
        "    assert 'hil.testing.plugin' in sys.modules\n"
    )
    status, printed = outside(tmp_path, "-p", "no:hypothesispytest", "-p", "no:pytest_timeout")
    assert status == 0, printed


def test_every_name_of_the_package_is_there_and_has_a_fixture():
    names = set(hil.testing.__all__)
    fixtures = {name for name in vars(hil.testing.plugin) if name.startswith("simulated_")}
    assert {f"simulated_{name}" for name in names - {"VirtualBench"}} == fixtures
    for name in names:
        assert callable(getattr(hil.testing, name))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = hil.testing.nonsense


def test_every_function_of_the_package_is_listed_before_it_is_used():
    assert set(hil.testing.__all__) <= set(dir(hil.testing))
