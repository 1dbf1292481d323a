"""How a config is found, overridden, seeded and identified."""

import math
import operator
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.config import Config, load_config, shipped_configs
from hil.config.model_parameters import nominal_rig
from hil.config.schema.ground_and_obstacle import SoilConfig
from models.rover import (
    ROVERS,
    ExomarsLikeParameters,
    ExomarsParameters,
    JunoExactParameters,
    JunoParameters,
    Parameters,
    ParametricParameters,
    RcpParameters,
    RockerBogieParameters,
    XuParameters,
)
from models.rover.registry import VEHICLES
from models.vehicle.loads import CubePayload, Drawbar
from models.wheel import RigidWheel, Soil


@pytest.mark.parametrize(
    "source", ["sim_impact", "sim_impact.yaml", "rig_configs/sim_impact", "rig_configs/sim_impact.yaml"]
)
def test_a_shipped_config_is_found_by_each_of_its_names(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(source).name == "sim_impact"


def test_a_file_in_the_current_folder_wins_over_a_shipped_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sim_impact.yaml").write_text("name: mine\nrig: simulated\n", encoding="utf-8")
    assert load_config("sim_impact.yaml").name == "mine"
    assert load_config("sim_impact").name == "sim_impact"


def test_the_shipped_config_is_the_defaults_but_for_the_added_weights() -> None:
    shipped = load_config("sim_impact").model_dump()
    default = Config(name="sim_impact", rig="simulated").model_dump()
    assert shipped["rover"].pop("added_mass_kg") == 22.7
    assert default["rover"].pop("added_mass_kg") == 0.0
    assert shipped["residuals"].pop("calibration")["runs"] >= 50
    assert default["residuals"].pop("calibration") is None
    assert shipped == default


def test_a_copied_config_is_short() -> None:
    assert len(shipped_configs()["sim_impact"].splitlines()) <= 280


def test_every_key_says_what_it_is() -> None:
    schema = Config.model_json_schema()
    for section, content in schema["$defs"].items():
        silent = [name for name, key in content["properties"].items() if "description" not in key]
        assert not silent, (section, silent)


def test_overrides_apply_in_order_and_before_the_check() -> None:
    config = load_config(
        "sim_impact",
        ["trial.angle_deg=95", "trial.angle_deg=7e1", "daq.channels.1.bias_V=0.01", "plant.spread={mass: 0}"],
    )
    assert config.trial.angle_deg == 70.0
    assert config.daq.channels[1].bias_V == 0.01
    assert config.plant.spread.mass == 0.0
    assert config.plant.spread.soil == 0.05


def test_an_override_reaches_into_sections_and_lists_that_the_file_leaves_out(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text("name: short\nrig: simulated\n", encoding="utf-8")
    config = load_config(file, ["daq.channels.2.noise_V=0", "plant.spread.mass=0.1"])
    assert config.daq.channels[2].noise_V == 0.0
    assert config.daq.channels[0].noise_V == 0.0005
    assert config.plant.spread.mass == 0.1


def test_the_seed_option_wins_over_file_and_overrides() -> None:
    assert load_config("sim_impact", ["seed=5"], seed=7).seed == 7


def test_numbers_are_read_as_people_write_them() -> None:
    config = load_config("sim_impact", ["soil.stiffness=1.6e6", "obstacle.leg_stiffness_Npm=55000", "seed=010"])
    assert config.soil.stiffness == 1.6e6
    assert config.obstacle.leg_stiffness_Npm == 5.5e4
    assert config.seed == 10


def test_channels_are_kept_in_one_order() -> None:
    config = load_config("sim_impact", ["daq.channels.0.name=lower_left", "daq.channels.1.name=top"])
    assert [channel.name for channel in config.daq.channels] == ["top", "lower_left", "lower_right"]


def test_the_fingerprint_tells_effective_configs_apart_and_nothing_else(tmp_path: Path) -> None:
    config = load_config("sim_impact")
    file = tmp_path / "copy.yaml"
    file.write_text(config.to_yaml(), encoding="utf-8")
    assert load_config(file) == config
    assert load_config(file).sha256() == config.sha256()
    assert load_config("sim_impact", ["trial.angle_deg=60.0"]).sha256() == config.sha256()
    assert load_config("sim_impact", ["trial.angle_deg=61"]).sha256() != config.sha256()
    assert load_config("sim_impact", seed=2).sha256() != config.sha256()


def test_the_fingerprint_of_the_defaults_stays() -> None:
    # changes only with a key, a default or the form itself: then add a line to CHANGELOG and put the new one here
    known = "13d342915c4e1716ca6a37c61c5c07b520d02c1a89261c61799ab33574b9d99a"
    assert Config(name="fingerprint", rig="simulated").sha256() == known


@pytest.mark.slow
@settings(deadline=None, max_examples=max(settings().max_examples // 4, 25))  # long configs
@given(
    text=st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=30)
    | st.sampled_from(["1e5", "on", "null", "010", "1:30", "=", "~", ".inf", "a: b"]),
    angle=st.floats(10, 90),
)
def test_to_yaml_reads_back_to_an_equal_config(
    tmp_path_factory: pytest.TempPathFactory, text: str, angle: float
) -> None:
    config = Config.model_validate(
        {"name": "x", "rig": "simulated", "trial": {"angle_deg": angle}, "drives": {"holds_on_slope": text}}
    )
    file = tmp_path_factory.mktemp("yaml") / "config.yaml"
    file.write_bytes(config.to_yaml().encode())
    assert load_config(file) == config


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("rcp", RcpParameters(added_mass=22.7, wheel_width=0.15)),
        ("parametric", ParametricParameters(added_mass=22.7, wheel_width=0.15, track=1.0604, arm_width=0.0578)),
        ("exomars_like", ExomarsLikeParameters()),
        ("exomars", ExomarsParameters()),
        ("rocker_bogie", RockerBogieParameters()),
        ("juno", JunoParameters()),
        ("juno_exact", JunoExactParameters()),
        ("xu", XuParameters()),
    ],
)
def test_rover_assumptions_map_one_to_one_to_the_model(kind: str, parameters: Parameters) -> None:
    config = load_config("sim_impact", [f"rover.type={kind}"])
    assert config.rover.parameters() == parameters
    assert {mount.radius for mount in parameters.build().tree.wheels} == {config.rover.wheel_radius_m}


def test_a_config_can_name_every_rover_that_there_is() -> None:
    for name in ROVERS:
        rover = load_config("sim_impact", ["experiment=drive", f"rover.type={name}"]).rover
        assert type(rover.parameters()) is ROVERS[name]
    assert Config.model_json_schema()["$defs"]["RoverConfig"]["properties"]["type"]["enum"] == [*VEHICLES, "imported"]


@pytest.mark.parametrize("name", list(ROVERS))
def test_a_config_takes_each_default_of_a_rover_in_the_units_of_its_key(name: str) -> None:
    rover = load_config("sim_impact", ["experiment=drive", f"rover.type={name}", "rover.added_mass_kg=0"]).rover
    for parameter, one in ROVERS[name].quantities().items():
        node: Any = operator.attrgetter(rover.key_of(parameter).removeprefix("rover."))(rover)
        assert node == one.default
        assert getattr(rover.parameters(), parameter) == (
            math.radians(node) if rover.key_of(parameter).endswith("_deg") else node
        )


def test_the_type_on_the_command_line_replaces_the_rover_of_the_file() -> None:
    """sim_impact has added weights, which only the RCP and the parametric rover have."""
    assert load_config("sim_impact", ["rover.type=exomars"]).rover.added_mass_kg == 0.0
    assert load_config("sim_impact", ["rover.type=parametric"]).rover.added_mass_kg == 22.7
    both = load_config("sim_impact", ["rover.type=juno", "rover.juno.rod_mass_kg=2"])
    assert both.rover.juno.rod_mass_kg == 2.0


@pytest.mark.slow
def test_the_effective_config_of_any_rover_is_read_back(tmp_path: Path) -> None:
    for name in ROVERS:
        config = load_config("sim_impact", ["experiment=drive", f"rover.type={name}"])
        file = tmp_path / f"{name}.yaml"
        file.write_text(config.to_yaml(), encoding="utf-8")
        assert load_config(file).sha256() == config.sha256()


@pytest.mark.slow
def test_a_config_is_read_without_the_kernels() -> None:
    asked = (
        "import sys; from hil.config import Config; Config(name='a', rig='simulated', rover={'type': 'juno'}).layout;"
    )
    asked += "import hil.messages.link_messages; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_choice_of_a_rover_has_no_unit_and_its_angle_is_in_degrees() -> None:
    given = ["rover.type=juno", "rover.juno.chains=false", "rover.juno.tilt_angle_deg=10"]
    parameters = load_config("sim_impact", given).rover.parameters()
    assert parameters == JunoParameters(chains=False, tilt_angle=math.radians(10.0))


def test_loads_and_slope_of_a_config_are_those_of_the_rig() -> None:
    plain = nominal_rig(load_config("sim_impact"))
    assert (plain.payload.mass, plain.ground.terrain) == (0.0, None)
    assert not plain.drawbar.wrench().any()
    given = ["payload.mass_kg=20", "payload.x_m=0.1", "payload.z_m=0.9", "drawbar.pull_N=80", "drawbar.x_m=-0.6"]
    rig = nominal_rig(load_config("sim_impact", [f"rover.{item}" for item in given]))
    assert rig.payload == CubePayload(20.0, (0.1, 0.0, 0.9), 0.2)
    assert rig.drawbar == Drawbar((-80.0, 0.0, 0.0), (-0.6, 0.0, 0.0))


def test_the_parametric_rovers_defaults_are_the_places_of_the_rcp() -> None:
    rovers = [
        load_config("sim_impact", [f"rover.type={kind}"]).rover.parameters().build() for kind in ("rcp", "parametric")
    ]
    rcp, parametric = (rover.wheel_positions(rover.neutral()) for rover in rovers)
    np.testing.assert_allclose(rcp, parametric, atol=2e-3)  # Table 4-1's rear wheels are 3 mm further back


def test_angles_of_a_rover_are_degrees_in_the_config_and_radians_in_the_model() -> None:
    rover = load_config("sim_impact", ["rover.type=parametric", "rover.parametric.walking_angle_deg=10"]).rover
    assert rover.parameters().walking_angle == pytest.approx(math.radians(10.0))  # type: ignore[attr-defined]


def test_wheels_with_grousers_roll_on_the_radius_to_their_tips() -> None:
    assert load_config("sim_impact", ["wheel.grouser_height_m=0.02"]).wheel_radius_m == 0.175
    grousers = ["wheel.grousers=22", "wheel.grouser_height_m=0.02"]
    assert load_config("sim_impact", grousers).wheel_radius_m == pytest.approx(0.195)
    assert load_config("sim_impact", [*grousers, "rover.type=exomars"]).wheel_radius_m == pytest.approx(0.1625)


def test_a_block_is_a_whole_number_of_samples() -> None:
    daq = load_config("sim_impact").daq
    assert daq.block_samples == 60
    assert math.isclose(daq.block_samples / daq.rate_hz, daq.block_ms / 1000)


@settings(deadline=None, max_examples=50)
@given(
    stiffness=st.floats(1e3, 1e9),
    exponent=st.floats(0.3, 1.75),
    cohesion=st.floats(0, 1e6),
    friction_angle=st.floats(0, 60),
    rebound=st.floats(1e-3, 0.7),
    width=st.floats(0.01, 1),
)
def test_every_allowed_soil_and_width_makes_a_wheel(
    stiffness: float, exponent: float, cohesion: float, friction_angle: float, rebound: float, width: float
) -> None:
    soil = SoilConfig(
        stiffness=stiffness,
        exponent=exponent,
        cohesion_Pa=cohesion,
        friction_angle_deg=friction_angle,
        rebound=rebound,
    )
    made = Soil(
        soil.stiffness,
        soil.exponent,
        cohesion=soil.cohesion_Pa,
        friction_angle=math.radians(soil.friction_angle_deg),
        rebound=soil.rebound,
        slip_modulus=soil.slip_modulus,
    )
    assert all(map(math.isfinite, RigidWheel(0.175, width, made).forces(0.05, 0.2)))
