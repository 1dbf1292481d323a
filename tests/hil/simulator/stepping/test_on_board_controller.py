"""A program of a user's drives a plan of activities through the step service, in virtual time."""

import ast
import re
import runpy
import sys

import pytest

from hil.campaign.activity import load_activity_plan, simulate
from tests.hil.simulator.stepping.served import ServedProcess


@pytest.mark.slow
def test_the_example_arrives_where_the_activities_command_does_and_prints_what_its_docstring_says(
    pytestconfig, monkeypatch, capsys
):
    path = pytestconfig.rootpath / "examples" / "on_board_controller.py"
    served = ServedProcess(outside=False)
    monkeypatch.setattr(sys, "argv", [str(path), served.endpoint, "one_sol"])
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        served.close()
    printed = capsys.readouterr().out.splitlines()
    for line, phase in zip(printed, simulate(served.rig, load_activity_plan("one_sol")).phases, strict=True):
        if not phase.way_m:
            assert line == f"{phase.name}: stays"
            continue
        name, gone_s, x, y = re.fullmatch(r"(\w+): ([\d.]+) s, ([-\d.]+) ([-\d.]+) m", line).groups()
        assert name == phase.name
        # the served rig is not the nominal one of the command
        assert float(gone_s) == pytest.approx(phase.to_s - phase.from_s, abs=0.15)
        assert (float(x), float(y)) == pytest.approx((phase.x_m, phase.y_m), abs=0.01)
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert [line[4:] for line in words.split("It prints:\n\n")[1].splitlines()[: len(printed)]] == printed
