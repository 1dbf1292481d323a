"""The energy balance of a run is of that very run."""

from __future__ import annotations

import pytest

from hil.app.run import run
from hil.config import load_config
from references.energy_balance import energy_balance


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", ["trial.start_distance_m=0.03", "trial.settle_s=2.0", "telemetry.endpoint=''"])


@pytest.fixture(scope="module")
def result(config):
    return run(config)


@pytest.mark.slow
def test_the_balance_is_of_the_run_to_the_bit_and_closes(config, result):
    balance = energy_balance(config, result.ticks)
    assert balance.contact_force_peak == result.summary["contact_force_peak_N"]
    assert len(balance.t_s) == len(result.ticks) + 1
    supplied = balance.term("supplied")[-1]
    assert supplied > 0.1
    assert abs(balance.residue).max() < 0.01 * supplied
    assert abs(balance.residue[-1]) < 1e-4 * supplied
    at_rest = balance.term("stored")[-1] - balance.term("stored")[0]
    assert supplied - balance.term("lost")[-1] == pytest.approx(at_rest, abs=1e-4 * supplied)


def test_runs_whose_ticks_do_not_say_when_a_command_took_effect_are_refused(config, result):
    other = load_config("sim_impact", ["links.drives_delay_ms=5", "clock=realtime"])
    with pytest.raises(ValueError, match=r"clock is realtime.*drives_delay_ms is 5"):
        energy_balance(other, result.ticks)
