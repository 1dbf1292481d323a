"""Exit statuses and messages on stderr: no traceback for a mistake of the user."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from typer.main import get_command

import hil
import hil.analysis.energy
from hil.cli import app, run
from hil.cli.terminal import show
from hil.config import ConfigError, load_config, shipped_configs

ROOT = Path(hil.__path__[0]).parent
HEAVY = ("numba", "scipy", "matplotlib", "h5py", "pydantic")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HIL_DEBUG", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["trial", "energy", "check"])
def test_a_wrong_config_ends_with_status_two_and_all_problems(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = run([command, "sim_impact", "--set", "trial.angle_deg=95", "--set", "nonsense=1", "--seed", "-1"])
    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert all(key in printed.err for key in ("trial.angle_deg: found 95", "nonsense: found", "seed: found -1"))
    assert "Traceback" not in printed.err
    assert not list(Path().iterdir())  # no run folder without a run


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

    monkeypatch.setattr(hil.analysis.energy, "energy_curve", fail)
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_configs_lists_what_is_shipped_and_what_needs_hardware(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs"]) == 0
    groups: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("│"):
            use, name = (cell.strip() for cell in line.split("│")[1:3])
            groups.setdefault(use or [*groups][-1], []).append(name)
    assert groups["Real rigs"] == ["bumper", "mars_dome"]
    assert groups.pop("--plan of hil campaign") == ["laboratory", "thesis"]
    assert groups.pop("--plan of hil activity") == ["one_sol"]
    assert sorted(name for names in groups.values() for name in names) == [*shipped_configs()]
    assert "sim_impact" in groups["Impact trials"]
    assert all(name.endswith("_wire") for name in groups["Real drivers, simulated devices"])


def test_help_lists_every_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert all(status in printed for status in ("0 done", "1 fault", "2 config", "3 arming refused", "130 interrupted"))


def test_a_table_in_a_pipe_or_a_narrow_terminal_cuts_no_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "devices.valves.pressure_channels.left_retract"

    def shown() -> str:
        table = Table("key", "names", "there")
        table.add_row(key, 5 * "/dev/serial/by-id/usb-somebody", "yes")
        show(table)
        return capsys.readouterr().out

    monkeypatch.delenv("COLUMNS", raising=False)
    assert any(key in line and "yes" in line for line in shown().splitlines())
    monkeypatch.setenv("COLUMNS", "40")
    narrow = shown()
    assert max(map(len, narrow.splitlines())) <= 40
    assert "…" not in narrow
    assert key in "".join(narrow.split())
    assert "pressure_channels." in narrow  # broken behind a sign, not within a name


def test_what_grpc_would_print_itself_is_off() -> None:
    assert os.environ["GRPC_VERBOSITY"] == "NONE"


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("telemetry.endpoint", "tcp://127.0.0.1:65536", False),
        ("telemetry.endpoint", "tcp://127.0.0.1:65535", True),
        ("devices.daq.server", "host:70000", False),
        ("devices.daq.server", "host:31763", True),
    ],
)
def test_a_port_is_at_most_65535(key: str, value: str, allowed: bool) -> None:
    if allowed:
        load_config("sim_wire", [f"{key}={value}"])
    else:
        with pytest.raises(ConfigError, match="65535"):
            load_config("sim_wire", [f"{key}={value}"])


def test_a_device_server_with_no_such_port_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", "--server", "localhost:65536"]) == 2
    assert "at most 65535" in capsys.readouterr().err


def test_an_empty_value_is_an_empty_text() -> None:
    """The shell removes the quotes of `--set telemetry.endpoint=""`."""
    assert load_config("sim_impact", ["telemetry.endpoint="]).telemetry.endpoint == ""


def test_configs_copies_one_to_edit_and_never_over_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs", "--copy", "sim_impact"]) == 0
    Path("sim_impact.yaml").write_text(Path("sim_impact.yaml").read_text() + "# mine\n")
    assert run(["configs", "--copy", "sim_impact"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert Path("sim_impact.yaml").read_text().endswith("# mine\n")
    assert run(["configs", "--copy", "no_such"]) == 2


@pytest.mark.parametrize(
    ("plan", "command", "key"),
    [
        ("laboratory", "hil campaign CONFIG --plan laboratory.yaml", "angles_deg"),
        ("one_sol", "hil activity", "activities"),
    ],
)
def test_a_plan_is_copied_to_edit(plan, command, key, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs", "--copy", plan]) == 0
    assert command in capsys.readouterr().out
    assert f"\n{key}:" in Path(f"{plan}.yaml").read_text()
    assert run(["configs", "--copy", f"plans/{plan}"]) == 2
    assert "already exists" in capsys.readouterr().err


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    for command, meant in (
        (("trial", "sim_imapct"), "did you mean sim_impact"),
        (("campaign", "sim_impact", "--plan", "laboratry"), "did you mean laboratory"),
        (("configs", "--copy", "tesis"), "did you mean thesis"),
        (("check", "sim_impact", "--set", "ground.kind=hard"), "or nonsmooth or none; did you mean firm?"),
        (("check", "sim_impact", "--set", "ground.kind=soft"), "did you mean soil?"),
        (("check", "sim_impact", "--set", "clock=lockstp"), "did you mean lockstep?"),
    ):
        assert run(command) == 2
        assert meant in capsys.readouterr().err, command


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("hil trial sim_im", ["sim_impact", "sim_imported"]),
        ("hil trial sim_impact --set trial.an", ["trial.angle_deg="]),
        ("hil campaign sim_impact --plan th", ["thesis"]),
        ("hil configs --copy lab", ["laboratory"]),
        ("hil camp", ["campaign"]),
    ],
)
def test_the_shell_completes(words, completed, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_HIL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert run([]) == 0
    assert capsys.readouterr().out.split() == completed


@pytest.mark.parametrize("command", [["energy"], ["rover", "import"], ["drawbar"], []])
def test_help_shows_no_type_of_value_next_to_a_flag(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    printed = capsys.readouterr().out
    assert "--help" in printed
    assert "bool" not in printed


@pytest.mark.parametrize("command", ["energy", "path", "ruts"])
def test_help_shows_the_units_that_stand_in_brackets(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = get_command(app).commands[command]  # type: ignore[attr-defined]
    units = re.findall(r"\[(?:m|deg)\]", " ".join(option.help or "" for option in given.params))
    assert units
    assert run([command, "--help"]) == 0
    printed = capsys.readouterr().out
    assert sorted(re.findall(r"\[(?:m|deg)\]", printed)) == sorted(units)


def test_help_names_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert str(Path(__file__).parents[3] / "docs" / "index.md") in "".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("name", "first"),
    [("sim_impact", "trial"), ("sim_juno", "run"), ("sim_drawbar", "run"), ("mars_dome", "check")],
)
def test_a_copied_config_is_named_with_the_command_that_takes_it(
    name: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["configs", "--copy", name]) == 0
    assert f"for example `hil {first} {name}.yaml`" in capsys.readouterr().out


def test_configs_prints_the_keys_of_a_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs", "--keys", "sinkage"]) == 0
    assert "settle_s: 1 # from the start" in capsys.readouterr().out
    assert run(["configs", "--keys", "no_such"]) == 2
    assert "no_such: no section" in capsys.readouterr().err


def test_configs_says_a_whole_sentence_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert all(line.split("│")[3].rstrip().endswith(".") for line in lines)
    assert not any("App." in line for line in lines)  # a sentence does not end in an abbreviation
    assert sum("four wheels, no obstacle, no force sensors." in line for line in lines) == 1


def test_units_in_the_heading_of_a_table_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("angle [deg]", "total [kg]")
    table.add_column("T_c [J]")
    show(table)
    printed = capsys.readouterr().out
    for heading in ("angle [deg]", "total [kg]", "T_c [J]"):
        assert heading in printed


def test_a_table_in_a_narrow_terminal_breaks_no_word_that_has_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = Table("item", "found", "allowed")
    table.add_row("cylinder torque", "59 N m, of all of the cylinders together", "60 N m (limits.bogie_torque_Nm)")
    show(table)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 60
    assert "(limits.bogie_torque_Nm)" in printed


def test_a_config_is_copied_with_its_calibration_file_and_neither_over_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["configs", "--copy", "mars_dome"]) == 0
    assert load_config("mars_dome.yaml") == load_config("mars_dome")
    Path("mars_dome.yaml").unlink()
    assert run(["configs", "--copy", "mars_dome"]) == 2
    assert "calibration/mars_dome.yaml already exists" in capsys.readouterr().err
    assert not Path("mars_dome.yaml").exists()


def test_help_has_each_command_in_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for group in ("Run", "Rig", "Runs", "Analysis", "Your own parts", "Machine"):
        assert f"─ {group} ─" in shown
    assert "─ Commands ─" not in shown
