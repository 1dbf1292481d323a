"""The script of docs/how-to/operate-from-a-script.md makes a run, and so does the example."""

from __future__ import annotations

import json
import re
import runpy
import threading
import time

import numpy as np
import pytest

from hil.ipc.command_memory import STATUS
from hil.messages.operator_input import Arm, Start

IDLE = {"state": "idle", "armed": False, "refused": [], "faults": [], "runs": 0, "message": "", "summary": None}


@pytest.fixture
def script(pytestconfig):
    page = (pytestconfig.rootpath / "docs/how-to/operate-from-a-script.md").read_text(encoding="utf-8")
    return re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]


class Resident:
    """Stands in for the resident process: answers each kind of command with a status."""

    def __init__(self, rig, **after):
        self.asked = []
        self._rig, self._after, self._over = rig, after, threading.Event()
        self.show()
        self._thread = threading.Thread(target=self._serve)

    def show(self, **status):
        self._rig.memory.status.write(np.array([(json.dumps({**IDLE, **status}).encode(),)], STATUS))

    def _serve(self):
        while not self._over.is_set():
            for command in self._rig.commands():
                self.asked.append(command)
                self.show(**self._after.get(type(command).__name__, {}))
            time.sleep(0.01)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def test_it_arms_starts_and_prints_the_summary(found_rig, script, capsys):
    with Resident(found_rig, Arm={"armed": True}, Start={"runs": 1, "summary": {"accepted": True}}) as resident:
        exec(compile(script, "script", "exec"), {})
    assert resident.asked == [Arm(), Start()]
    assert capsys.readouterr().out == "{'accepted': True}\n"
    assert found_rig.lease() is None


def test_the_example_arms_starts_and_prints_what_its_docstring_says(found_rig, pytestconfig, capsys):
    path = pytestconfig.rootpath / "examples" / "operate_a_rig.py"
    ran = {"runs": 1, "summary": {"accepted": True, "contact_force_peak_N": 171.6}}
    with Resident(found_rig, Arm={"armed": True}, Start=ran) as resident:
        words = runpy.run_path(str(path))["__doc__"]
    assert resident.asked == [Arm(), Start()]
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3
    assert [f"    {line}" for line in printed] == words.split("It prints:\n\n")[1].splitlines()[:3]
    assert found_rig.lease() is None


def test_it_ends_with_a_sentence_where_the_rig_cannot_be_armed(found_rig, script):
    refused = {"refused": ["disk space"], "message": "arming refused: disk space"}
    with Resident(found_rig, Arm=refused) as resident, pytest.raises(SystemExit, match="arming refused: disk space"):
        exec(compile(script, "script", "exec"), {})
    assert resident.asked == [Arm()]
    assert found_rig.lease() is None
