"""Exit statuses and what is said on stderr: no traceback for anybody's mistake."""

import subprocess
import sys
from pathlib import Path

import pytest

import hil
import hil.energy
from hil.cli import run
from hil.config import load_config

ROOT = Path(hil.__path__[0]).parent
HEAVY = ("numba", "scipy", "matplotlib", "h5py", "pydantic")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HIL_DEBUG", raising=False)


@pytest.mark.parametrize("command", ["trial", "energy", "check"])
def test_a_wrong_config_ends_with_status_two_and_all_problems(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = run([command, "sim_impact", "--set", "trial.angle_deg=95", "--set", "nonsense=1", "--seed", "-1"])
    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert all(key in printed.err for key in ("trial.angle_deg: found 95", "nonsense: found", "seed: found -1"))
    assert "Traceback" not in printed.err
    assert not list(Path().iterdir())  # no run folder for a run that never was


def test_an_unknown_clock_is_refused_with_the_clocks_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trial", "sim_impact", "--clock", "sundial"]) == 2
    printed = capsys.readouterr().err
    assert "lockstep" in printed
    assert "realtime" in printed


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["trial"], ["energy", "sim_impact", "--no-such-option"], ["trial", "sim_impact", "--seed", "x"]],
)
def test_wrong_usage_ends_with_status_two(arguments: list[str]) -> None:
    assert run(arguments) == 2


def test_a_missing_config_ends_with_status_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trial", "missing.yaml"]) == 2
    assert "sim_impact" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["trial", "energy"])
def test_a_folder_that_is_not_empty_ends_with_status_two(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    assert run([command, "sim_impact", "--out", "full"]) == 2
    assert "full is not empty (notes.txt)" in capsys.readouterr().err
    assert Path("full/notes.txt").read_text() == "mine"


def test_an_out_that_is_a_file_ends_with_status_two(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert run(["energy", "sim_impact", "--out", "file"]) == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize("held", [[], ["trial.h5"], ["summary.json"]])
def test_a_report_on_what_is_no_finished_run_ends_with_status_two(
    held: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run").mkdir()
    for name in held:
        Path("run", name).write_text("")
    assert run(["report", "run"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_unexpected_error_ends_with_status_one_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the moon is in the way")

    monkeypatch.setattr(hil.energy, "energy_curve", fail)
    assert run(["energy", "sim_impact"]) == 1
    printed = capsys.readouterr().err
    assert "RuntimeError: the moon is in the way" in printed
    assert "--debug" in printed
    assert "Traceback" not in printed
    monkeypatch.setenv("HIL_DEBUG", "1")
    assert run(["energy", "sim_impact"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"hil {hil.__version__}\n"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_import_nothing_heavy(option: str) -> None:
    code = (
        "import sys; from hil.cli import run; status = run([sys.argv[1]]); "
        f"sys.exit(status or ' '.join(name for name in {HEAVY} if name in sys.modules) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, option],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["models", "drivers", "rig_configs"])
def test_a_package_that_shadows_ours_is_refused_with_both_paths_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "hil.cli", "configs"],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert str(tmp_path / name) in done.stderr
    assert str(ROOT / name) in done.stderr


def test_configs_lists_what_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs"]) == 0
    names = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["bumper", "mars_dome", "sim_impact", "sim_wire"]


def test_configs_copies_one_to_edit_and_never_over_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs", "--copy", "sim_impact"]) == 0
    Path("sim_impact.yaml").write_text(Path("sim_impact.yaml").read_text() + "# mine\n")
    assert run(["configs", "--copy", "sim_impact"]) == 2
    assert "already there" in capsys.readouterr().err
    assert Path("sim_impact.yaml").read_text().endswith("# mine\n")
    assert run(["configs", "--copy", "no_such"]) == 2


def test_a_config_is_copied_with_its_calibration_file_and_neither_over_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["configs", "--copy", "mars_dome"]) == 0
    assert load_config("mars_dome.yaml") == load_config("mars_dome")
    Path("mars_dome.yaml").unlink()
    assert run(["configs", "--copy", "mars_dome"]) == 2
    assert "calibration/mars_dome.yaml is already there" in capsys.readouterr().err
    assert not Path("mars_dome.yaml").exists()
