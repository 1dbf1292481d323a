"""Files for the lab's computer: whole, for this user, and named by `hil check` of a real rig where they are missing."""

import re
from configparser import RawConfigParser
from pathlib import Path

import pytest

from hil.app.check import host
from hil.app.check.host import LIMITS, RULES, check_host, computer_checks
from hil.config import load_config

REAL = ("mars_dome", ["telemetry.endpoint=''"])
ROOT = Path(__file__).parents[3]


def text_of(name: str) -> str:
    return (ROOT / "docs/how-to/computer" / name).read_text(encoding="utf-8")


@pytest.fixture
def real_rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A real rig with all its ports, on a computer that has none of the files."""
    for name, (place, use) in {"RULES": RULES, "LIMITS": LIMITS}.items():
        monkeypatch.setattr(host, name, (tmp_path / place.name, use))
    return load_config(*REAL)


def test_check_of_a_real_rig_names_each_file_that_is_missing_and_arms_all_the_same(real_rig, tmp_path: Path) -> None:
    missing = {check.item.rpartition(" ")[2]: check for check in check_host(real_rig) if "file of" in check.item}
    assert missing.keys() == {RULES[0].name, LIMITS[0].name}
    assert all(check.ok and "is missing" in check.found and "bring-up.md" in check.found for check in missing.values())
    (tmp_path / RULES[0].name).write_text("")
    found = {check.item.rpartition(" ")[2]: check.found for check in computer_checks(real_rig)}
    assert "missing" not in found[RULES[0].name]
    assert "missing" in found[LIMITS[0].name]


def test_check_of_a_simulated_rig_wants_none() -> None:
    assert not [check for check in check_host(load_config("sim_impact", REAL[1])) if RULES[0].name in check.item]


def test_the_files_are_for_a_user_a_folder_and_a_program() -> None:
    assert "@USER@ - rtprio 80" in text_of("rover-hil.conf")
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text_of("rover-hil.service"))
    program, command, config, _ = unit["Service"]["ExecStart"].split()
    assert (program, command, config) == ("@HIL@", "operate", "@FOLDER@/rig.yaml")
    assert (unit["Service"]["User"], unit["Service"]["KillSignal"]) == ("@USER@", "SIGINT")


def test_each_rule_of_udev_is_a_list_of_keys_and_each_jump_has_its_label() -> None:
    lines = [line for line in text_of(RULES[0].name).splitlines() if line and not line.startswith("#")]
    rule = re.compile(r'[A-Z]+(\{[\w/]+\})?(==|!=|=)"[^"]*"(, [A-Z]+(\{[\w/]+\})?(==|!=|=)"[^"]*")*')
    assert [line for line in lines if not rule.fullmatch(line)] == []
    text = "\n".join(lines)
    assert set(re.findall('GOTO="(\\w+)"', text)) == set(re.findall('LABEL="(\\w+)"', text))


def test_limits_and_service_give_what_a_run_asks_for() -> None:
    wanted = load_config("mars_dome").realtime
    rtprio = int(re.search(r"rtprio (\d+)", text_of(LIMITS[0].name))[1])  # type: ignore[index]
    assert rtprio >= wanted.fifo_priority
    assert f"LimitRTPRIO={rtprio}" in text_of("rover-hil.service")


def test_the_container_installs_the_lock_and_the_wheel_and_is_no_root() -> None:
    text = text_of("Containerfile")
    assert (ROOT / "requirements.lock").is_file()
    assert "--require-hashes" in text
    assert text.index("USER rover") < text.index("ENTRYPOINT")
