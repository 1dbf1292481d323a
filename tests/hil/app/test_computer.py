"""Files for the lab's computer: whole, for this user, and named by `hil check` of a real rig where they are missing."""

import getpass
import re
from configparser import RawConfigParser
from pathlib import Path

import pytest

from hil.app import computer as of
from hil.app.check.host import check_host
from hil.app.computer import CONTAINER, FILES, LIMITS, RULES, SERVICE, ComputerFile, computer_checks, text_of
from hil.cli import run
from hil.config import load_config

REAL = ("mars_dome", ["telemetry.endpoint=''"])


@pytest.fixture
def real_rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A real rig with all its ports, on a computer that has none of the files."""
    for name in ("RULES", "LIMITS"):
        file: ComputerFile = getattr(of, name)
        monkeypatch.setattr(of, name, file._replace(place=tmp_path / file.name))
    return load_config(*REAL)


def test_check_of_a_real_rig_names_each_file_that_is_missing_and_arms_all_the_same(real_rig, tmp_path: Path) -> None:
    missing = {check.item.rpartition(" ")[2]: check for check in check_host(real_rig) if "file of" in check.item}
    assert missing.keys() == {RULES.name, LIMITS.name}
    assert all(check.ok and "is missing" in check.found and "hil computer" in check.found for check in missing.values())
    (tmp_path / RULES.name).write_text("")
    found = {check.item.rpartition(" ")[2]: check.found for check in computer_checks(real_rig)}
    assert "missing" not in found[RULES.name]
    assert "missing" in found[LIMITS.name]


def test_check_of_a_simulated_rig_wants_none() -> None:
    assert not [check for check in check_host(load_config("sim_impact", REAL[1])) if RULES.name in check.item]


def test_copies_are_for_this_user_this_folder_and_this_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["computer", "--copy", "made"]) == 0
    assert f"sudo cp made/{RULES.name} {RULES.place}" in capsys.readouterr().out
    texts = {file.name: (tmp_path / "made" / file.name).read_text() for file in FILES}
    assert not [name for name, text in texts.items() if re.search("@[A-Z]+@", text)]
    assert f"{getpass.getuser()} - rtprio 80" in texts[LIMITS.name]
    unit = RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read_string(texts[SERVICE.name])
    program, command, config, _ = unit["Service"]["ExecStart"].split()
    assert (Path(program).name, command, config) == ("hil", "operate", f"{tmp_path}/rig.yaml")
    assert (unit["Service"]["User"], unit["Service"]["KillSignal"]) == (getpass.getuser(), "SIGINT")
    assert run(["computer", "--copy", "made"]) == 2
    assert "already exists" in capsys.readouterr().err


def test_the_list_says_which_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["computer"]) == 0
    listed = capsys.readouterr().out
    assert all(file.name in listed for file in FILES)


def test_each_rule_of_udev_is_a_list_of_keys_and_each_jump_has_its_label() -> None:
    lines = [line for line in text_of(RULES).splitlines() if line and not line.startswith("#")]
    rule = re.compile(r'[A-Z]+(\{[\w/]+\})?(==|!=|=)"[^"]*"(, [A-Z]+(\{[\w/]+\})?(==|!=|=)"[^"]*")*')
    assert [line for line in lines if not rule.fullmatch(line)] == []
    text = "\n".join(lines)
    assert set(re.findall('GOTO="(\\w+)"', text)) == set(re.findall('LABEL="(\\w+)"', text))


def test_limits_and_service_give_what_a_run_asks_for() -> None:
    wanted = load_config("mars_dome").realtime
    rtprio = int(re.search(r"rtprio (\d+)", text_of(LIMITS))[1])  # type: ignore[index]
    assert rtprio >= wanted.fifo_priority
    assert f"LimitRTPRIO={rtprio}" in text_of(SERVICE)


def test_the_container_installs_the_lock_and_the_wheel_and_is_no_root() -> None:
    text = text_of(CONTAINER)
    assert (Path(of.__file__).parents[3] / "requirements.lock").is_file()
    assert "--require-hashes" in text
    assert text.index("USER rover") < text.index("ENTRYPOINT")
