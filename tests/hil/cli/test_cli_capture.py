"""Commands that ask for wheels refuse a space arm in words."""

from __future__ import annotations

import pytest

from hil.cli import run


@pytest.mark.parametrize("command", [("energy",), ("serve",)])
def test_what_needs_wheels_refuses_a_space_arm(command, capsys):
    assert run([*command, "sim_capture"]) == 2
    said = capsys.readouterr().err
    assert "rover.type: found space_arm; allowed: a rover with" in said
