"""Commands that ask for wheels refuse vehicles without them in words."""

from __future__ import annotations

import pytest

from hil.cli import run


@pytest.mark.parametrize("command", [("energy",), ("serve",), ("activity", "--plan", "one_sol")])
def test_what_needs_wheels_refuses_a_space_arm(command, capsys):
    assert run([*command, "sim_capture"]) == 2
    said = capsys.readouterr().err
    assert "of config sim_capture: " in said
    assert "rover.type: found space_arm; allowed: a rover with" in said
    assert "; set it, or choose another config (hil configs)" in said


@pytest.mark.parametrize("command", ["energy", "slope"])
def test_what_needs_more_than_a_wheel_on_rails_refuses_it(command, capsys):
    assert run([command, "sim_wheel_bed"]) == 2
    assert "rover.type: found single_wheel; allowed: a rover " in capsys.readouterr().err
