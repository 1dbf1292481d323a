"""`devices.servos`: what is refused before anything is opened, each in words that name the key."""

import json
import math

import pytest

from drivers.servo_section import HOME
from hil.app.driver_factory import DriverFactory
from hil.config import ConfigError, load_config
from hil.config.rig_setup import rig_setup

WALK = "sim_walk_wire"
CONTROLLERS = "devices.servos.controllers"
PAIRS = [(f"{row}_left_walking", f"{row}_right_walking") for row in ("front", "middle", "rear")]
ON_PORTS = ", ".join(f"{{port: /dev/{i}, channel_1: {one}, channel_2: {two}}}" for i, (one, two) in enumerate(PAIRS))


def roboteq(more: str = "") -> str:
    scale = "counts_per_turn: 4096, gear: 100"
    return f"devices.servos={{driver: roboteq, {scale}, {more} controllers: [{ON_PORTS}]}}"


def refused(*overrides: str) -> dict[str, str]:
    """What was found, by key of the refused values."""
    with pytest.raises(ConfigError) as caught:
        load_config(WALK, overrides)
    return {problem.key: problem.found for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("override", "key", "found"),
    [
        (f"{CONTROLLERS}.0.m1=rear_left_walking", CONTROLLERS, "2 for rear_left_walking, 0 for front_left_walking"),
        (f"{CONTROLLERS}.0.m1=null", CONTROLLERS, "0 for front_left_walking"),
        (f"{CONTROLLERS}.0.address=0x81", CONTROLLERS, "address 0x81 2 times on bus 0"),
        (f"{CONTROLLERS}.0.bus=3", CONTROLLERS, "a controller on bus 3 of 1"),
        ("devices.servos.ports=[/dev/ttyACM3]", CONTROLLERS, "on bus 0, /dev/ttyACM3, which is USB"),
        ("devices.servos.reversed=[mast]", "devices.servos.reversed", "mast"),
        ("devices.servos.joints={mast: {gear: 5}}", "devices.servos.joints.mast", "an unknown key"),
        ("devices.servos.joints={walking: {zero: 5}}", "devices.servos.joints", "a zero of rear_right_walking"),
        ("devices.servos.encoder=absolute", "devices.servos.joints", "no zero of rear_right_walking"),
        ("devices.servos.gear=1e5", "devices.servos.counts_per_turn", "34133333 counts at an end"),
        ("devices.servos.baud=19200", "devices.servos.baud", "busy for"),
        ("devices.servos.rate_hz=10", "devices.servos.rate_hz", "10"),
        ("limits.servos_age_ms=50", "limits.servos_age_ms", "50"),
        ("devices.servos=null", "devices.servos", "nothing"),
        ("servos=null", "devices.servos", "a section, roboclaw"),
        (roboteq("encoder: absolute, joints: {walking: {zero: 1}},"), "devices.servos.encoder", "absolute"),
        (roboteq("joints: {walking: {counts_per_turn: 4095}},"), "devices.servos.counts_per_turn", "4095"),
    ],
)
def test_servos_that_cannot_work_are_refused_by_key(override: str, key: str, found: str) -> None:
    table = json.dumps("time_s,speed_mps\n0,0\n1,0.02\n2,0\n")
    assert found in refused(override, f"stimulus.table={table}")[key]


def test_a_port_of_the_wheel_drives_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match=r"a separate port for each link \(drives and servos\)"):
        load_config(WALK, ["devices.drives.ports=[/dev/a]", "devices.servos.ports=[/dev/a]"])


def test_a_kind_of_joints_may_have_a_scale_of_its_own() -> None:
    overrides = ["devices.servos.joints={walking: {gear: 50}, rear_left_walking: {counts_per_turn: 400}}"]
    config = load_config(WALK, overrides)
    assert config.devices is not None
    scales = {scale.name: scale for scale in config.devices.servos.scales(rig_setup(config))}  # type: ignore[union-attr]
    assert scales["front_left_walking"].counts_per_turn == 4096 * 50
    assert scales["rear_left_walking"].counts_per_turn == 400 * 100
    assert scales["rear_right_walking"].sign == -1
    assert scales["front_left_walking"].count(0.0) == HOME
    assert scales["front_left_walking"].highest_rad == pytest.approx(math.radians(30))


def test_a_start_is_only_what_the_operator_has_confirmed() -> None:
    for confirmed, start in (("confirmed", 0.0), ("''", None)):
        config = load_config(WALK, [f"devices.servos.start={confirmed}"])
        assert config.devices is not None
        assert config.devices.servos.scales(rig_setup(config))[0].start_rad == start  # type: ignore[union-attr]


@pytest.mark.parametrize("override", ["devices.servos.ports=[/dev/s]", roboteq()], ids=["roboclaw", "roboteq"])
def test_each_driver_is_made_with_its_stop_frames(override: str) -> None:
    config = load_config(WALK, ["devices.drives.ports=[/dev/d]", override])
    frames = DriverFactory(config.devices, rig_setup(config)).stop_frames()
    assert set(frames) == {"drives", "servos"}
    assert all(stop.frames for stop in frames["servos"])
