"""`hil rover import` and `export`: files of a rover of one's own, and of a config's rover."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hil
from hil.cli import run
from hil.config import ConfigError, load_config

pytestmark = pytest.mark.slow
EXAMPLE = Path(hil.__path__[0]).parent / "rig_configs" / "rovers" / "four_wheel_rocker.urdf"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_imported_rover_has_a_config_a_urdf_a_sketch_and_numbers_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rover", "import", str(EXAMPLE), "--out", "mine", "--name", "cart", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in Path("mine").iterdir()) == ["cart.png", "cart.urdf", "cart.yaml"]
    assert found["mass_kg"] == pytest.approx(47.2)
    # the wheels bear the weight, the front ones more, for the mast is ahead; its centre of mass says by how much
    front, rear = sum(found["loads_N"][:2]), sum(found["loads_N"][2:])
    assert front + rear == pytest.approx(47.2 * 9.81, rel=1e-6)
    assert (front - rear) / (front + rear) * 0.31 == pytest.approx(found["com_m"][0], rel=0.05)
    x, _, z = found["com_m"]
    assert x == pytest.approx((0.18 * 2.4) / 47.2)
    assert z == pytest.approx((32 * 0.3 + 2.4 * 0.64 + 6.4 * 0.2 + 6.4 * 0.12) / 47.2)
    assert found["tips_deg"]["nose up"] == pytest.approx(np.degrees(np.arctan((0.31 + x) / z)))
    assert found["tips_deg"]["to port"] == pytest.approx(np.degrees(np.arctan(0.31 / z)))
    assert found["peak_angle_deg"] is not None


def test_an_imported_rover_hits_the_obstacle_as_every_rover_and_its_record_has_its_own_urdf(tmp_path: Path) -> None:
    config = load_config("sim_imported", ["trial.start_distance_m=0.03", "telemetry.endpoint=''"])
    result = hil.run(config)
    assert result.summary["accepted"]
    speed_mps = result.summary["impact_speed_mps"]  # T_c is 0.0865 J at 70 mm/s
    assert result.summary["effective_kinetic_energy_J"] == pytest.approx(0.0865 * (speed_mps / 0.07) ** 2, rel=0.05)
    assert "<robot name=" in config.to_yaml()
    result.save(tmp_path / "run")
    assert run(["verify", "run"]) == 0
    assert run(["render", "run", "--to", "png", "--out", "run.png"]) == 0
    assert Path("run.png").stat().st_size > 10_000


def test_a_rover_that_is_exported_and_imported_is_the_same_with_its_payload_and_locks() -> None:
    changed = ["--set", "rover.payload={mass_kg: 5, z_m: 1}", "--set", "rover.locks={rear_bogie: 0}"]
    assert run(["rover", "export", "sim_impact", *changed]) == 0
    assert run(["rover", "import", "sim_impact.urdf"]) == 0
    before = load_config("sim_impact", changed[1::2]).rover_model()
    after = load_config("sim_impact_imported.yaml").rover_model()
    q = before.neutral()
    assert after.joint_names == before.joint_names
    assert np.allclose(after.mass_matrix(q), before.mass_matrix(q), rtol=1e-12, atol=1e-12)


def test_an_export_says_that_others_do_not_find_a_closed_loop_in_a_urdf_and_an_mjcf_has_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["rover", "export", "sim_juno_exact"]) == 0
    said = capsys.readouterr().out
    assert "note: loop left_rod_end: a ball joint of left_rocker and left_rod. A URDF cannot state it: it is" in said
    assert "allowed for these: --to mjcf" in said
    assert run(["rover", "export", "sim_juno_exact", "--to", "mjcf"]) == 0
    assert "note: " not in capsys.readouterr().out
    text = Path("sim_juno_exact.mjcf").read_text(encoding="utf-8")
    assert text.count("<connect ") == 2
    assert 'joint1="rear_left_drive" joint2="front_left_drive"' in text


def test_files_that_are_there_are_not_changed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cart.yaml").write_text("mine")
    assert run(["rover", "import", str(EXAMPLE), "--name", "cart"]) == 2
    assert (
        "cart.yaml already exists and is not changed; allowed: files that are not there yet" in capsys.readouterr().err
    )
    Path("sim_juno.urdf").write_text("mine")
    assert run(["rover", "export", "sim_juno"]) == 2
    assert "sim_juno.urdf already exists" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in Path().iterdir()} == {"cart.yaml": "mine", "sim_juno.urdf": "mine"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.urdf"], "missing.urdf: No such file or directory"),
        ([str(EXAMPLE), "--name", "a b"], "name 'a b'; allowed: a name of letters, digits"),
        ([str(EXAMPLE), "--wheels", "wheel_fl,nose"], "wheel 'nose' is no link that turns, allowed: of these joints"),
        ([str(EXAMPLE), "--wheel-radius", "9"], "wheel wheel_rr: radius 9 m, width 0.1 m, allowed: 0.005 to 5 m"),
    ],
)
def test_what_cannot_be_imported_ends_with_status_two_and_leaves_nothing(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rover", "import", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_a_rover_that_the_defaults_do_not_suit_is_written_and_the_keys_to_change_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    light = EXAMPLE.read_text(encoding="utf-8").replace('value="1.6"', 'value="0.0001"')
    Path("light.urdf").write_text(light.replace("0.0068", "1e-7").replace("0.0115", "1.5e-7"), encoding="utf-8")
    assert run(["rover", "import", "light.urdf", "--name", "feather"]) == 2
    said = capsys.readouterr().err
    assert "wrote feather.yaml and feather.urdf, which a trial does not take yet; change these keys there" in said
    assert "plant.substep_us" in said


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        (["rover.locks={left_bogie: 0}"], "rover.locks", "joints without a cylinder: left_bogie, right_bogie have one"),
        (["rover.locks={front_left_drive: 0}"], "rover.locks", "joints of rover.type rcp that are not of wheels"),
        (["rover.type=rocker_bogie", "rover.locks={left_rocker: 0}"], "rover.locks", "not of wheels or coupled"),
        (["rover.locks={rear_bogie: 200}"], "rover.locks.rear_bogie", "-180 to 180"),
        (["rover.locks={rear_bogie: 0}", "joints={encoders: [{joint: rear_bogie}]}"], "joints.encoders", "that turn"),
        (["rover.type=imported"], "rover.imported.urdf", "the path of a URDF"),
        (["rover.type=imported", "rover.imported.urdf=none.urdf"], "rover.imported.urdf", "a readable URDF"),
        (["rover.imported.wheels=[a, b]"], "rover.imported.wheels", "its default: a rover of type rcp"),
    ],
)
def test_locks_and_files_that_do_not_fit_the_rover_are_refused_by_their_keys(
    overrides: list[str], key: str, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("sim_impact", overrides)
    found = {problem.key: problem.allowed for problem in caught.value.problems}
    assert words in found[key], found


def test_a_kind_that_wheels_have_too_does_not_lock_them(tmp_path: Path) -> None:
    pan = '<link name="head"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>'
    pan += '<joint name="pan_axle" type="continuous"><parent link="mast"/><child link="head"/>'
    pan += '<axis xyz="0 0 1"/></joint>'
    (tmp_path / "pan.urdf").write_text(EXAMPLE.read_text(encoding="utf-8").replace("</robot>", pan + "</robot>"))
    own = {"rover.imported.urdf": str(tmp_path / "pan.urdf")}
    with pytest.raises(ConfigError, match=r"of the wheels' fl_axle, .*allowed: names of joints: .*; pan_axle"):
        load_config("sim_imported", {**own, "rover.locks": {"axle": 0}})
    held = load_config("sim_imported", {**own, "rover.locks": {"pan_axle": 9}})
    assert held.layout.turning == ("left_rocker_joint", "right_rocker_joint")


def test_a_locked_joint_does_not_turn_and_a_steered_one_stays_at_its_angle() -> None:
    config = load_config("sim_impact", ["rover.locks={rear_bogie: 3, front_left_steering: 10}"])
    rover = config.rover_model()
    assert "rear_bogie" not in config.layout.turning
    assert rover.nv == 14
    angles = {joint.name: joint.locked_at for joint in rover.tree.joints}
    assert angles["rear_bogie"] == pytest.approx(np.radians(3.0))
    assert angles["front_left_steering"] == pytest.approx(np.radians(10.0))
    assert angles["front_right_steering"] == 0.0
