"""Rovers of files with closed loops: `<connect>` of an MJCF, `<loop>` of a URDF, and which joints follow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.analysis.own_rover.files import joints_in_words
from hil.analysis.own_rover.read import RoverFileError, read_rover
from hil.config import load_config
from models.rover import juno_exact
from models.rover.mjcf import FOLLOWING, to_mjcf
from models.rover.rover import Rover
from models.rover.urdf import to_urdf

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")


@pytest.fixture(scope="module")
def juno() -> Rover:
    return juno_exact(locks={"tilt": None})


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rover.xml"
    path.write_text(text, encoding="utf-8")
    return path


def same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return bool(np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max())


@pytest.mark.parametrize("form", ["mjcf", "mjcf that does not say which joints follow", "urdf"])
def test_juno_with_its_rods_comes_back_with_its_loops(juno: Rover, form: str, tmp_path: Path) -> None:
    text = to_urdf(juno.tree, whole=True) if form == "urdf" else to_mjcf(juno.tree)
    if "does not" in form:
        text = text.replace(f'text name="{FOLLOWING}', 'text name="other ')
    found = read_rover(written(tmp_path, text))
    rover = Rover(found.tree)
    assert (rover.joint_names, rover.tree_joint_names) == (juno.joint_names, juno.tree_joint_names)
    random = np.random.default_rng(2)
    q, v = juno.neutral(), random.normal(size=juno.nv)
    q[7:] = 0.2 * random.normal(size=juno.nq - 7)
    assert same(rover.mass_matrix(q), juno.mass_matrix(q))
    assert same(rover.bias(q, v), juno.bias(q, v))
    chosen = any("joints that follow from loops" in note for note in found.notes)
    assert chosen is ("does not" in form)


def test_a_loop_that_cannot_be_is_refused_in_words(juno: Rover, tmp_path: Path) -> None:
    text = to_urdf(juno.tree, whole=True)
    for old, new, said in (
        ('link="left_rod" xyz="', 'link="nothing" xyz="', "loop left_rod_end: no link nothing, allowed: links of the"),
        ('joints="transverse_pivot ', 'joints="', "loop left_rod_end: 2 joints that follow, allowed: 3, or none"),
        ('link="left_rod" xyz="0.0', 'link="left_rod" xyz="0.1', "its points are .* m apart at joint angles zero"),
        ('<point link="left_rocker"', '<other link="left_rocker"', "loop left_rod_end: 1 <point>, allowed: 2"),
    ):
        assert old in text
        with pytest.raises(RoverFileError, match=said):
            read_rover(written(tmp_path, text.replace(old, new, 1)))


def test_a_loop_of_an_mjcf_from_which_two_joints_follow_is_refused(juno: Rover, tmp_path: Path) -> None:
    text = to_mjcf(juno.tree).replace('data="transverse_pivot ', 'data="', 1)
    with pytest.raises(RoverFileError, match="text following left_rod_end: 2 joints that follow, allowed: 3, or no"):
        read_rover(written(tmp_path, text))


def test_a_body_that_is_tied_where_nothing_can_follow_is_refused(juno: Rover, tmp_path: Path) -> None:
    text = to_mjcf(juno.tree).replace(f'text name="{FOLLOWING}', 'text name="other ')
    text = text.replace('body2="left_rod"', 'body2="chassis"', 1)
    with pytest.raises(RoverFileError, match=r"loops are closed by . joints .* allowed: 6, three for each loop"):
        read_rover(written(tmp_path, text))


def test_it_is_said_which_joints_turn_slide_and_follow(juno: Rover) -> None:
    assert joints_in_words(juno).startswith("turn: chassis_tilt, left_rocker; follow: rear_left_drive = 1 x front_left")
    assert "follow from loops: transverse_pivot, left_rod_swing, left_rod_sway, right_rocker" in joints_in_words(juno)
    lift = load_config("sim_lift").rover_model()
    assert joints_in_words(lift).startswith(
        "turn: left_rocker_joint; slide: deck_lift; follow: right_rocker_joint = -1"
    )
