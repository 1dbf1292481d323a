"""A URDF and an MJCF of one rover are the same rover; an MJCF that is none of ours is refused in words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import hil
from hil.analysis.own_rover.read import RoverFileError, read_rover
from models.rover.mjcf import to_mjcf
from models.rover.reduction import reduce
from models.rover.urdf import to_urdf
from tests.rover_files import cart

pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")

WHEEL = '<geom type="cylinder" size="0.12 0.05" mass="1.6"/>'


def side(name: str, y: float, turn: int) -> str:
    wheels = "".join(
        f'<body name="{row}_{name}" pos="{x} {y / 2} -0.16" euler="{turn} 0 0"><joint name="{row}_{name}_axle"'
        f' axis="0 0 1"/>{WHEEL}</body>'
        for row, x in (("front", 0.31), ("rear", -0.31))
    )
    hinge = f'<joint name="{name}_rocker" axis="0 1 0" pos="0.05 0 0" range="-30 30" limited="true"/>'
    return (
        f'<body name="{name}" pos="0 {y} -0.02">{hinge}<geom type="box" size="0.3 0.02 0.03" mass="3"/>{wheels}</body>'
    )


MODEL = (
    '<mujoco><worldbody><geom type="plane" size="5 5 0.1"/><body name="chassis" pos="0 0 0.3"><freejoint/>'
    '<geom type="box" size="0.28 0.18 0.09" mass="32"/>' + side("left", 0.2, -90) + side("right", -0.2, 90)
    + '</body></worldbody><equality><joint joint1="right_rocker" joint2="left_rocker" polycoef="0 -1 0 0 0"/>'
    "</equality></mujoco>"
)  # fmt: skip


def urdf_link(name: str, mass: float, inertia: tuple[float, ...], geometry: str, x: float = 0.0) -> str:
    xx, yy, zz = inertia
    place = f'<origin xyz="{x} 0 0"/>'
    return (
        f'<link name="{name}"><inertial>{place}<mass value="{mass}"/><inertia ixx="{xx!r}" iyy="{yy!r}" izz="{zz!r}"/>'
        f"</inertial><collision>{place}<geometry>{geometry}</geometry></collision></link>"
    )


def urdf_joint(name: str, kind: str, parent: str, child: str, xyz: str, more: str) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<axis xyz="0 1 0"/>{more}</joint>'


def box(mass: float, x: float, y: float, z: float) -> tuple[float, ...]:
    return mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12


def as_urdf() -> str:
    across = 1.6 * (3 * 0.12**2 + 0.1**2) / 12
    out = urdf_link("chassis", 32.0, box(32.0, 0.56, 0.36, 0.18), '<box size="0.56 0.36 0.18"/>')
    for name, y in (("left", 0.2), ("right", -0.2)):
        stop = '<limit lower="-0.5235987755982988" upper="0.5235987755982988"/>'
        tie = '<mimic joint="left_rocker" multiplier="-1"/>' if name == "right" else ""
        out += urdf_link(name, 3.0, box(3.0, 0.6, 0.04, 0.06), '<box size="0.6 0.04 0.06"/>', -0.05)
        out += urdf_joint(f"{name}_rocker", "revolute", "chassis", name, f"0.05 {y} -0.02", stop + tie)
        for row, x in (("front", 0.26), ("rear", -0.36)):
            wheel = f"{row}_{name}"
            inertia = (across, 1.6 * 0.12**2 / 2, across)
            out += urdf_link(wheel, 1.6, inertia, '<sphere radius="0.12"/>')
            out += urdf_joint(f"{wheel}_axle", "continuous", name, wheel, f"{x} {y / 2} -0.16", "")
    return f'<robot name="rover">{out}</robot>'


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rover.xml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_mjcf_and_a_urdf_of_one_rover_are_the_same(tmp_path: Path) -> None:
    mjcf = read_rover(written(tmp_path, MODEL))
    urdf = read_rover(written(tmp_path, as_urdf()), wheel_width_m=0.1)
    assert mjcf.wheel_links == urdf.wheel_links == ("front_left", "front_right", "rear_left", "rear_right")
    assert mjcf.tree.couplings == urdf.tree.couplings
    ours, theirs = reduce(mjcf.tree), reduce(urdf.tree)
    assert ours[1] == theirs[1]
    for name, one, other in zip(ours[0]._fields, ours[0], theirs[0], strict=True):
        # neither has closed loops
        assert (one is None and other is None) or np.allclose(one, other, rtol=1e-9, atol=1e-12), name
    assert [joint.stops for joint in mjcf.tree.joints[:2]] == [(-np.pi / 6, np.pi / 6)] * 2


TETRAHEDRON = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize("compiler", ["", "meshdir='parts'", "assetdir='parts'", "strippath='true' meshdir='parts'"])
def test_the_mass_of_a_mesh_counts_wherever_an_mjcf_has_it(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / ("parts" if compiler else "") / "wedge.obj").write_text(TETRAHEDRON, "utf-8")
    named = "C:/elsewhere/wedge.obj" if "strippath" in compiler else "wedge.obj"
    assets = f"<compiler {compiler}/><asset><mesh file='{named}'/></asset>"
    text = MODEL.replace("<worldbody>", f"{assets}<worldbody>").replace(
        '<geom type="box" size="0.28', '<geom type="mesh" mesh="wedge" density="6000"/><geom type="box" size="0.28'
    )
    path = written(tmp_path, text)
    assert read_rover(path).tree.body["chassis"].mass == pytest.approx(32.0 + 6000.0 * 0.1**3 / 6)


def test_an_mjcf_is_read_where_no_file_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, MODEL)
    monkeypatch.setattr("hil.analysis.own_rover.read._Model", lambda *_: path.open())
    with pytest.raises(RoverFileError, match="Too many open files"):
        read_rover(path)


def test_all_that_an_mjcf_names_and_that_is_not_taken_is_said_at_once(tmp_path: Path) -> None:
    assets = "<asset><mesh file='a.stl'/><texture type='2d' name='b' file='b.png'/></asset>"
    with pytest.raises(RoverFileError, match=r"a\.stl of <mesh>: is not there.*b\.png of <texture>"):
        read_rover(written(tmp_path, MODEL.replace("<worldbody>", f"{assets}<worldbody>")))
    other = MODEL.replace("<freejoint/>", "<freejoint/><include file='x.xml'/><composite count='9 9 9'/>")
    with pytest.raises(RoverFileError, match=r"<include> in it.*<composite> in it"):
        read_rover(written(tmp_path, other))


REFUSED = {
    "a ball": ('axle" axis="0 0 1"', 'axle" type="ball"', "ball joint front_left_axle"),
    "two joints": (
        '<geom type="box" size="0.3',
        '<joint axis="1 0 0"/><geom type="box" size="0.3',
        "hinge and hinge joint",
    ),
    "a weld": ("<equality>", '<equality><weld body1="left" body2="right"/>', "is a weld or another"),
    "a loop that nothing closes": (
        "<equality>",
        '<equality><connect body1="left" body2="right" anchor="0 0 0"/>',
        "loops are closed by 0 joints",
    ),
    "a gear that is not even": ("0 -1 0 0 0", "0 -1 0.5 0 0", "is not linear"),
    "a rail": ("<freejoint/>", '<joint type="slide" axis="1 0 0"/>', "slide joint to the world, allowed: a free joint"),
    "two rovers": (
        "</worldbody>",
        '<body name="b"><freejoint/><geom size="1"/></body></worldbody>',
        "move: chassis, b",
    ),
    "nonsense": ("<freejoint/>", "<frejoint/>", "MuJoCo does not take it"),
    "another file": ("<freejoint/>", '<freejoint/><include file="x.xml"/>', "<include> in it, allowed: bodies"),
    "masses in g": ('mass="32"', 'mass="32000"', "are masses in g"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_an_mjcf_that_is_no_rover_of_ours_is_refused_in_words(tmp_path: Path, name: str) -> None:
    old, new, said = REFUSED[name]
    assert old in MODEL
    with pytest.raises(RoverFileError, match=said):
        read_rover(written(tmp_path, MODEL.replace(old, new, 1)))


def test_wheels_that_are_spheres_or_meshes_need_their_sizes(tmp_path: Path) -> None:
    with pytest.raises(RoverFileError, match=r"wheel rear_right: no width.*--wheel-width"):
        read_rover(written(tmp_path, as_urdf()))
    meshes = as_urdf().replace('<sphere radius="0.12"/>', '<mesh filename="a.stl"/>')
    named = [f"{row}_{name}" for row in ("front", "rear") for name in ("left", "right")]
    with pytest.raises(RoverFileError, match="wheel rear_right: no radius and width"):
        read_rover(written(tmp_path, meshes), named)
    found = read_rover(written(tmp_path, meshes), [f"{name}_axle" for name in named], 0.12, 0.1)
    assert {(wheel.radius, wheel.width) for wheel in found.tree.wheels} == {(0.12, 0.1)}
    with pytest.raises(RoverFileError, match="wheel 'nose' is no link that turns, allowed: of these joints"):
        read_rover(written(tmp_path, meshes), ["nose"], 0.12, 0.1)


def test_a_file_that_is_not_there_or_a_folder_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(RoverFileError, match="No such file"):
        read_rover(tmp_path / "none.urdf")
    with pytest.raises(RoverFileError, match="no regular file"):
        read_rover(tmp_path)


def test_a_slide_of_an_mjcf_is_the_prismatic_joint_of_a_urdf(tmp_path: Path) -> None:
    urdf = read_rover(Path(hil.__path__[0]).parent / "rig_configs" / "rovers" / "lifting_deck.urdf").tree
    mjcf = read_rover(written(tmp_path, to_mjcf(urdf))).tree
    ours, theirs = ({joint.name: joint for joint in tree.joints}["deck_lift"] for tree in (mjcf, urdf))
    assert ours == theirs
    assert ours.slides
    assert ours.stops == (-0.01, 0.15)


def test_a_urdf_with_settings_for_mujoco_inside_is_read_as_a_urdf(tmp_path: Path) -> None:
    path = tmp_path / "cart.urdf"
    path.write_text(cart(more='<mujoco><compiler meshdir="m"/></mujoco>'), encoding="utf-8")
    found = read_rover(path)
    assert len(found.tree.wheels) == 4
    assert any("settings for MuJoCo" in note for note in found.notes)


def test_springs_damping_and_friction_of_an_mjcf_are_told(tmp_path: Path) -> None:
    hinge = 'range="-30 30" stiffness="5" damping="2" frictionloss="1"'
    path = tmp_path / "rover.xml"
    path.write_text(MODEL.replace('range="-30 30"', hinge), encoding="utf-8")
    said = "; ".join(read_rover(path).notes)
    for what in ("springs", "damping", "dry friction"):
        assert f"{what} of joints, left out" in said


ODD = ("side.rocker", "side_rocker", "gauche é", "x" * 64, "a,b", "wheel[/x]", "=SUM(A1)", "Ω", "кол", "straße")


@pytest.mark.parametrize("name", [name for name in ODD if name != "side.rocker"])
def test_names_that_a_column_or_a_terminal_cannot_have_are_changed_and_told(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rover.xml"
    path.write_text(
        cart(sides="revolute").replace("left_beam_joint", "side.rocker").replace("right_beam_joint", name), "utf-8"
    )
    found = read_rover(path)
    names = [joint.name for joint in found.tree.joints]
    assert "side.rocker" in names  # what follows the rule keeps its name
    assert name not in names
    assert len({re.sub("[^0-9A-Za-z]", "_", one) for one in names}) == len(names)
    assert all(re.fullmatch("[0-9A-Za-z_.]{1,40}", one) for one in names)
    assert any("names that were changed" in note and repr(name[:40]) in note for note in found.notes)
    path.write_text(to_urdf(found.tree, whole=True), "utf-8")
    again = read_rover(path)
    assert (again.tree.joints, again.notes) == (found.tree.joints, ())
