"""The script of docs/how-to/operate.md makes a run, and so does the example."""

from __future__ import annotations

import re
import runpy

import pytest

from hil.messages.operator_input import Arm, Start

from .resident import Resident

IDLE = {"state": "idle", "armed": False, "refused": [], "faults": [], "runs": 0, "message": "", "summary": None}


@pytest.fixture
def script(pytestconfig):
    page = (pytestconfig.rootpath / "docs/how-to/operate.md").read_text(encoding="utf-8")
    return re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]


class Answering(Resident):
    """Answers each kind of command with a status."""

    def __init__(self, rig, **after):
        super().__init__(rig)
        self._after = after
        self.show(**IDLE)

    def answer(self, command):
        self.show(**{**IDLE, **self._after.get(type(command).__name__, {})})


def test_it_arms_starts_and_prints_the_summary(found_rig, script, capsys):
    with Answering(found_rig, Arm={"armed": True}, Start={"runs": 1, "summary": {"accepted": True}}) as resident:
        exec(compile(script, "script", "exec"), {})
    assert resident.asked == [Arm(), Start()]
    assert capsys.readouterr().out == "{'accepted': True}\n"
    assert found_rig.lease() is None


def test_the_example_arms_starts_and_prints_what_its_docstring_says(found_rig, pytestconfig, capsys):
    path = pytestconfig.rootpath / "examples" / "operate_a_rig.py"
    ran = {"runs": 1, "summary": {"accepted": True, "contact_force_peak_N": 171.6}}
    with Answering(found_rig, Arm={"armed": True}, Start=ran) as resident:
        words = runpy.run_path(str(path))["__doc__"]
    assert resident.asked == [Arm(), Start()]
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3
    assert [f"    {line}" for line in printed] == words.split("It prints:\n\n")[1].splitlines()[:3]
    assert found_rig.lease() is None


def test_it_ends_with_a_sentence_where_the_rig_cannot_be_armed(found_rig, script):
    refused = {"refused": ["disk space"], "message": "arming refused: disk space"}
    with Answering(found_rig, Arm=refused) as resident, pytest.raises(SystemExit, match="arming refused: disk space"):
        exec(compile(script, "script", "exec"), {})
    assert resident.asked == [Arm()]
    assert found_rig.lease() is None
