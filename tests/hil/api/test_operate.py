"""`hil.operate`: a rig that a program opens, operates and closes."""

from __future__ import annotations

import pytest

import hil
from hil.operator.client import CommandError

CONFIG = hil.load("sim_impact", {"experiment": "jog", "jog.seconds": 0.5})


@pytest.mark.slow
def test_a_rig_is_opened_runs_is_followed_by_a_plot_and_is_closed(tmp_path):
    with hil.operate(CONFIG, out=tmp_path / "runs") as rig:
        assert repr(rig) == "<OperatedRig sim_impact: idle>"
        rig.arm()
        plot = rig.live_plot(["wheel_speed_radps", "speed_mps"])
        rig.start()
        result = rig.result()
        assert (result.accepted, result.folder.parent) == (True, tmp_path / "runs")
        rig.set({"seed": 2})
        plot.stop()
    assert repr(rig) == "<OperatedRig sim_impact: closed>"
    assert len(plot.figure.axes) == 2
    assert [line for axes in plot.figure.axes for line in axes.lines]
    rig.close()  # again


@pytest.mark.slow
def test_a_rig_that_cannot_be_opened_says_why(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(CommandError, match=r"hil operate has ended: .*is not empty \(mine.txt\)"):
        hil.operate(CONFIG, out=tmp_path)


def test_a_config_with_keys_is_refused():
    keys = {"operator.endpoint": "tcp://127.0.0.1:9873", "operator.keys": {"secret": "a", "clients": "b"}}
    with pytest.raises(hil.ConfigError, match=r"operator\.keys: found keys; allowed: null"):
        hil.operate(CONFIG.replace(keys))
