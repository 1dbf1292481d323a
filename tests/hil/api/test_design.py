"""`hil.sensitivity` and `hil.optimise`: the same studies from Python; no files are kept."""

from __future__ import annotations

import pytest

import hil

JOG = {"experiment": "jog", "jog.seconds": 0.3, "telemetry.endpoint": ""}
SPEED = "speed_reached_mps.front_left"


@pytest.mark.slow
def test_the_sensitivity_of_a_jog_to_its_speed_is_a_table_and_a_figure():
    found = hil.sensitivity(hil.load("sim_impact", JOG), ["jog.speed_mps"], SPEED, repeats=2, workers=1)
    frame = found.to_dataframe()
    assert frame.loc["jog.speed_mps", "elasticity"] == pytest.approx(1.0, abs=0.02)
    assert repr(found) == "<DesignStudy of sim_impact: 6 runs, 0 not accepted>"
    assert "SIMULATED rig" in " ".join(text.get_text() for text in found.plot().texts)
    assert found.best is None


@pytest.mark.slow
def test_the_best_of_a_jog_is_within_its_range():
    over = {"jog.speed_mps": (0.01, 0.03)}
    found = hil.optimise(hil.load("sim_impact", JOG), over, least=SPEED, evaluations=24, repeats=2, workers=1)
    assert found.best is not None
    assert found.best["jog.speed_mps"] == pytest.approx(0.01, rel=0.02)
    assert found.rows[0]["key"] == "jog.speed_mps"
    with pytest.raises(ValueError, match="an optimum has no figure"):
        found.plot()


def test_what_is_wrong_is_said_before_the_first_run():
    with pytest.raises(hil.ConfigError, match="did you mean speed_mps"):
        hil.optimise(hil.load("sim_impact", JOG), {"jog.speed": (0.01, 0.03)}, least=SPEED)
