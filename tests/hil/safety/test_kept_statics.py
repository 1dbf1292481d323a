"""What statics say is computed once for the runs of a campaign, and again where a key that matters differs."""

from __future__ import annotations

import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.safety.equilibrium_checks import _predicted, kept_statics


def count(*overrides: tuple[str, ...]) -> int:
    asked: list[Rig] = []
    kept = kept_statics(asked.append)
    for one in overrides:
        kept(Rig(load_config("sim_impact", one)))
    return len(asked)


def test_the_trials_of_a_campaign_share_one_result():
    assert count((), ("trial.angle_deg=40",), ("seed=7",), ("trial.start_distance_m=0.6",), ()) == 1


@pytest.mark.parametrize(
    "override",
    [
        "soil.stiffness=1e6",
        "ground.kind=firm",
        "rover.payload.mass_kg=1",
        "plant.substep_us=50",
        "cylinders.supply_kPa=100",
        "drives.torque_limit_Nm=50",
    ],
)
def test_a_key_that_statics_ask_is_asked_again(override):
    assert count((), (override,), ()) == 2


def test_another_speed_is_asked_again():
    asked: list[tuple[float, ...]] = []
    kept = kept_statics(lambda _, speeds_mps: asked.append(speeds_mps))
    for speeds_mps in ((0.05,), (0.07,), (0.05,)):
        kept(Rig(load_config("sim_impact")), speeds_mps)
    assert asked == [(0.05,), (0.07,)]


def test_statics_do_not_depend_on_what_is_left_out_of_the_key():
    other = ("trial.angle_deg=40", "trial.start_distance_m=0.6", "seed=7", "limits.tilt_deg=40")
    configs = load_config("sim_impact"), load_config("sim_impact", other)
    # other arguments of equal value: neither answer is the kept one of the other
    first, second = (_predicted(Rig(one), (0.07 + 0.0 * k,), steady=bool(k)) for k, one in enumerate(configs))
    assert first == second
