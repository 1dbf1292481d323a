"""URDFs as people have them: what counts is used, what does not is told, and all that is wrong is named at once."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from models.rover.from_links import ImportedRover, rover_of
from models.rover.locks import hanging
from models.rover.parameters import Parameters
from models.rover.reduction import Chain, reduce
from models.rover.registry import VEHICLES
from models.rover.rover import Rover
from models.rover.urdf_reader import read_urdf
from tests.rover_files import CORPUS, RADIUS_M, REFUSED, cart, joint, link

ROCK = link("rock", 3.0, (0.1, 0.2, 0.25))
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def read(text: str) -> ImportedRover:
    return rover_of(read_urdf(text))


def chain_of(text: str) -> Chain:
    return reduce(read(text).tree)[0]


def rock(kind: str = "revolute", more: str = LIMIT) -> str:
    return cart(more=ROCK + joint("pivot", kind, "body", "rock", "0.1 0 0.3", "1 0 0", more))


def plate(moments: tuple[float, float, float]) -> str:
    return cart(more=link("cam", 0.1, moments) + joint("seat", "fixed", "body", "cam", "0.2 0 0.4"))


def test_a_quaternion_turns_as_the_angles_that_mean_the_same() -> None:
    text = rock().replace('xyz="0.1 0 0.3"', 'xyz="0.1 0 0.3" {}')
    angle = 0.7
    turned = f'quat_xyzw="0 0 {math.sin(angle / 2)!r} {math.cos(angle / 2)!r}"'
    by_quaternion, by_angles = (chain_of(text.format(how)) for how in (turned, f'rpy="0 0 {angle}"'))
    for one, other in zip(by_quaternion, by_angles, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, other, atol=1e-12)
    assert np.abs(by_quaternion.axis - chain_of(rock()).axis).max() > 0.1


@pytest.mark.parametrize("how", ['quat_xyzw="0 0 0 0"', 'quat_xyzw="0 0 1"', 'quat_xyzw="0 0 0 1" rpy="0 0 0"'])
def test_a_quaternion_that_is_no_rotation_or_beside_angles_is_refused(how: str) -> None:
    with pytest.raises(ValueError, match=r"joint pivot: origin .*quat_xyzw"):
        read(rock().replace('xyz="0.1 0 0.3"', f'xyz="0.1 0 0.3" {how}'))


@pytest.mark.parametrize("moments", [(8.3e-5, 8.3e-5, 1.67e-4), (0.0, 1e-4, 1e-4)])
def test_of_links_that_are_fixed_to_each_other_only_the_sum_has_to_be_sound(
    moments: tuple[float, float, float],
) -> None:
    rover = read(plate(moments))
    assert any("joined with body: cam" in note for note in rover.notes)
    summed, sound = (chain_of(plate(each)).base_inertia for each in (moments, (1e-4, 1e-4, 1e-4)))
    diagonal = np.array([4, 7, 9])  # xx, yy, zz of the moments
    np.testing.assert_allclose((summed - sound)[diagonal], np.array(moments) - 1e-4, atol=1e-12)
    np.testing.assert_allclose(np.delete(summed - sound, diagonal), 0.0, atol=1e-12)


def test_a_sound_link_on_a_fixed_joint_stays_a_body_of_its_own() -> None:
    assert "cam" in read(plate((1e-4, 1e-4, 1e-4))).tree.body


def test_a_link_that_moves_alone_has_to_be_sound() -> None:
    with pytest.raises(ValueError, match=r"body rock: inertia is .*triangle inequality"):
        read(rock().replace('izz="0.25"', 'izz="0.35"'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (rock(more='<limit effort="1" velocity="1"/>'), "pivot: a limit without lower and upper, taken as no stop"),
        (rock(more=LIMIT.replace('"-1"', '"0.2"')), "limits 0.2 to 1 rad, left out: angle 0"),
        (rock(more=LIMIT + '<dynamics damping="0.1"/>'), "damping of joints .*left out: pivot"),
        (rock(more=LIMIT + '<dynamics friction="2"/>'), "friction of joints .*left out: pivot"),
        (cart(more='<mujoco><compiler balanceinertia="true"/></mujoco>'), "settings for MuJoCo .*left out"),
        (
            cart().replace('<axis xyz="0 1 0"/>', '<axis xyz="0.001 0.9999 -0.004"/>'),
            "axles up to 0.24 degrees off y, set along y: left_0_axle",
        ),
    ],
)
def test_what_is_left_out_or_changed_is_told(text: str, said: str) -> None:
    rover = read(text)
    assert re.search(said, "; ".join(rover.notes)), rover.notes
    assert len(rover.tree.wheels) == 4


def test_a_plain_file_has_nothing_to_tell_but_where_its_base_is() -> None:
    assert [note for note in read(rock(more=LIMIT + '<dynamics damping="0"/>')).notes if "base frame" not in note] == []


def test_a_visual_box_of_no_size_marks_a_frame_and_a_colliding_one_is_refused() -> None:
    frame = '<link name="frame"><{0}><geometry><box size="0 0 0"/></geometry></{0}></link>'
    seat = joint("seat", "fixed", "body", "frame")
    assert len(read(cart(more=frame.format("visual") + seat)).tree.wheels) == 4
    with pytest.raises(ValueError, match="link frame: collision box of size"):
        read(cart(more=frame.format("collision") + seat))


def test_all_links_and_joints_that_cannot_be_read_are_named_at_once() -> None:
    text = rock().replace('mass value="3.0"', 'mass value="heavy"').replace(f'radius="{RADIUS_M}"', 'radius="0"')
    with pytest.raises(ValueError, match="link left_0:") as refused:
        read(text.replace('xyz="0.1 0 0.3"', 'xyz="0.1 0"'))
    for what in ("link right_1:", "link rock:", "joint pivot:"):
        assert what in str(refused.value)


STEERS = tuple(f"steer_{side}_{{}}" for side in ("left", "right"))
BEAMS = [f"{side}_{row}_beam_{{}}" for side in ("left", "right") for row in (0, 1)]
HANGING = {
    "universal joints": {"left_rocker_tip", "right_rocker_tip"},
    "rockers, no differential": {"left_rocker_joint", "right_rocker_joint"},
    "rocker-bogie, bar": {name.format(row) for name in STEERS for row in (0, 2)},
    "rocker-bogie, all steered": {name.format(row) for name in STEERS for row in (0, 1, 2)},
    "rocker-bogie, large": {name.format(row) for name in STEERS for row in (0, 2)},
    "four steered": {name.format(row) for name in STEERS for row in (0, 1)},
    "four steered, rockers": {name.format(row) for name in STEERS for row in (0, 1)},
    "front steered, as a car": {name.format(0) for name in STEERS},
    "steered, named steering": {f"{side}_{row}_steering" for side in ("left", "right") for row in (0, 1)},
    **{key: {name.format("arm") for name in BEAMS} for key in ("arms without stops", "pantographs")},
    "springs left out": {name.format("slide") for name in BEAMS},
    "mast": {"mast_joint", "head_joint"},
    "arm": {"upper_joint", "lower_joint"},
    "lift": {"deck_joint"},
    "light links": {"lid_joint"},
    "articulated": {"waist"},
}


@pytest.mark.parametrize("name", CORPUS)
def test_joints_that_nothing_holds_are_found_by_what_they_do(name: str) -> None:
    tree = read(CORPUS[name]).tree
    free = hanging(tree)
    assert set(free) == HANGING.get(name, set())
    if not tree.couplings:
        assert not hanging(tree.with_locks(dict.fromkeys(free, 0.0)))  # a lock along any axis, as of a tilted pin


@pytest.mark.parametrize("kind", [kind for name, kind in VEHICLES.items() if name != "space_arm"])
def test_no_joint_of_a_rover_that_a_rig_has_hangs(kind: type[Parameters]) -> None:
    assert not hanging(kind().tree().with_locks(dict.fromkeys(kind.rig_locks(), 0.0)))


@pytest.mark.parametrize("name", REFUSED)
def test_all_that_is_wrong_with_a_file_is_named_at_once(name: str) -> None:
    text, said = REFUSED[name]
    with pytest.raises(ValueError, match="allowed: ") as refused:
        read(text)
    assert [words for words in said if words not in str(refused.value)] == []


@pytest.mark.parametrize(("factor", "why"), [(1e3, "longer than the rover"), (1e-6, "denser than any metal")])
def test_an_inertia_in_another_unit_is_noted_with_its_link(factor: float, why: str) -> None:
    text = cart().replace(
        'ixx="0.02" iyy="0.1" izz="0.1"', f'ixx="{0.02 * factor}" iyy="{0.1 * factor}" izz="{0.1 * factor}"'
    )
    notes = [note for note in read(text).notes if why in note]
    assert [note.partition(":")[0] for note in notes] == ["link left_beam", "link right_beam"]
    assert not any("its inertia" in note for name in CORPUS for note in read(CORPUS[name]).notes)


def test_wheels_that_miss_the_same_are_named_in_one_sentence() -> None:
    text = "".join(part.split("</collision>")[-1] for part in cart().split("<collision>"))
    names = ["left_0", "left_1", "right_0", "right_1"]
    with pytest.raises(
        ValueError, match="wheel left_0, wheel left_1, wheel right_0, wheel right_1: no radius"
    ) as refused:
        rover_of(read_urdf(text), names)
    assert str(refused.value).count("no radius") == 1


def test_a_massless_link_between_two_joints_counts_nothing() -> None:
    inertial = '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'

    def rocking(cross: str) -> ImportedRover:
        whole = f'<link name="cross">{cross}</link>' + joint("roll", "continuous", "body", "cross", axis="1 0 0")
        return read(cart(more=whole + ROCK + joint("pitch", "continuous", "cross", "rock", "0 0 0.3")))

    rover, same = (Rover(rocking(cross).tree) for cross in ("", inertial))
    light = Rover(rocking(inertial.replace('"0"', '"1e-4"')).tree)
    assert any("link cross: no mass, between joints" in note for note in rocking("").notes)
    q = rover.neutral()
    assert np.array_equal(rover.mass_matrix(q), same.mass_matrix(q))
    assert np.linalg.cond(rover.mass_matrix(q)) < 1.01 * np.linalg.cond(light.mass_matrix(q))
    assert np.allclose(rover.mass_matrix(q), light.mass_matrix(q), rtol=1e-2, atol=2e-4)


def test_a_massless_link_that_carries_nothing_is_refused_with_every_other() -> None:
    lost = "".join(f'<link name="{name}"/>' + joint(f"{name}_turn", "continuous", "body", name) for name in "ab")
    with pytest.raises(ValueError, match=r"link a: no mass, .*link b: no mass, "):
        read(cart(more=lost))
