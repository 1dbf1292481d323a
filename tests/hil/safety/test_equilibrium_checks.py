"""Before arming: a rover that would lift a wheel, turn a joint to its stop, tip or lie on its body is refused."""

from __future__ import annotations

import pytest

from hil.config import Config, load_config, shipped_configs
from hil.config.rig import Rig
from hil.experiments.registry import experiment_named
from hil.safety.arming import Check
from hil.safety.equilibrium_checks import equilibrium_checks, validity_checks

PULL = "rover.drawbar.pull_N=600"


def predicted(config: Config) -> list[Check]:
    """As a run of the config's experiment asks for them."""
    experiment = experiment_named(config.experiment)(Rig(config), lambda *_: [])
    return equilibrium_checks(Rig(config), experiment.drive_speeds_mps(), steady=experiment.steady)


def refused(config: str, *overrides: str) -> dict[str, str]:
    """Sentences of the checks that do not pass, by item."""
    return {one.item: str(one) for one in predicted(load_config(config, overrides)) if not one.ok}


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_configs())
def test_every_shipped_config_passes(name):
    config = load_config(name)
    assert not refused(name)
    # a carriage on rails cannot turn over, nor can what has no weight
    assert predicted(config) or config.rover.kind.guided() or config.ground.kind == "none"


@pytest.mark.parametrize("pull_N", [500, 600])
def test_the_pull_that_turned_a_rover_over_on_its_slope_is_refused_with_its_keys(pull_N):
    found = refused("sim_normal_force", f"rover.drawbar.pull_N={pull_N}", "ground.roll_deg=12")
    assert f"lower rover.drawbar.pull_N ({pull_N}) or ground.roll_deg (12)" in found["least wheel load"]
    assert "at rest: the front left wheel lifts" in found["least wheel load"]


def test_a_wheel_that_would_lift_is_named_with_what_loads_the_rover():
    found = refused("sim_impact", "rover.payload.mass_kg=200", "rover.payload.x_m=1", "rover.payload.z_m=1")
    assert "none at rest: the rear " in found["least wheel load"]
    assert "wheel lifts, allowed: every wheel on the ground" in found["least wheel load"]
    assert "rover.payload.mass_kg (200)" in found["least wheel load"]


@pytest.mark.slow
@pytest.mark.parametrize("stop_deg", [30, 20])
def test_a_joint_beyond_its_stop_is_named_with_its_key(stop_deg):
    found = refused(
        "sim_normal_force",
        "rover.drawbar.pull_N=0",
        "ground.wheel_height_m=[0.3,0,0,0,0,0]",
        f"rover.bogie_stop_deg={stop_deg}",
    )
    assert (
        f"left bogie at 31.4 deg driving at 0.05 m/s, allowed: up to its stop at {stop_deg} deg"
        in (found["suspension joint"])
    )
    assert "(rover.bogie_stop_deg)" in found["suspension joint"]


def test_tilt_beyond_its_limit_is_refused():
    assert (
        "at most 10 deg (limits.tilt_deg)"
        in (refused("sim_juno", "ground.pitch_deg=12", "limits.tilt_deg=10")["tilt of the body"])
    )
    assert not refused("sim_juno", "ground.pitch_deg=12")


def test_a_body_that_reaches_into_the_ground_is_refused():
    assert "-0.0" in refused("sim_impact", "rover.body_height_m=1.8")["body over the ground"]


@pytest.mark.parametrize("pitch_deg", [5, 16, 22])
def test_slopes_that_are_climbed_pass(pitch_deg):
    assert not refused("sim_slope", f"ground.pitch_deg={pitch_deg}")


def test_without_ground_nothing_is_predicted():
    assert not predicted(load_config("sim_impact", ["ground.kind=none"]))


def test_every_experiment_has_these_checks_before_its_own():
    config = load_config("sim_impact")
    checks = experiment_named(config.experiment)(Rig(config), lambda *_: []).fixed_checks
    items = [check.item for check in checks]
    common = [check.item for check in (*validity_checks(Rig(config)), *predicted(config))]
    assert items[: len(common)] == common
    assert "impact speed" in items
