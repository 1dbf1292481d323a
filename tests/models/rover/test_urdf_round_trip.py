"""Every rover written as a URDF and read again is the same; MuJoCo and Pinocchio read the same rover from the file."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import hil
from models.rover import PRESETS, parametric
from models.rover.from_links import rover_of
from models.rover.rover import Rover
from models.rover.ties import Coupling
from models.rover.urdf import to_urdf
from models.rover.urdf_reader import read_urdf

ROOT = Path(hil.__path__[0]).parent
OTHERS = runpy.run_path(str(ROOT / "docs" / "reproduce" / "other_engines.py"))
in_mujoco, in_pinocchio = OTHERS["in_mujoco"], OTHERS["in_pinocchio"]
difference, of_ours, random_state = OTHERS["difference"], OTHERS["of_ours"], OTHERS["random_state"]

ROVERS = ROOT / "rig_configs" / "rovers"
EXAMPLE = (ROVERS / "four_wheel_rocker.urdf").read_text(encoding="utf-8")
LIFT = (ROVERS / "lifting_deck.urdf").read_text(encoding="utf-8")
# a URDF cannot state closed loops
OPEN = {name: one for name, one in PRESETS.items() if not one.tree().closures}
TREES = {
    **{name: one.tree().with_locks(dict.fromkeys(one.rig_locks(), 0.0)) for name, one in OPEN.items()},
    "parametric walking": parametric(walking_angle=math.radians(20.0)).tree,
    "steering at the rear": PRESETS["exomars"].tree().with_locks({"steering": 0.0, "rear_left_steering": None}),
    "a deck that slides": rover_of(read_urdf(LIFT)).tree,
    "tilted": PRESETS["juno"].tree().with_locks({"tilt": 0.2}),
}


def close(ours, theirs, tolerance):
    return np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max())


# a rover that is read has a pair of wheels in front
@pytest.mark.parametrize("name", [name for name, tree in TREES.items() if not tree.guided])
def test_a_rover_written_and_read_again_moves_as_before(name):
    before = Rover(TREES[name])
    after = Rover(rover_of(read_urdf(to_urdf(before.tree, whole=True))).tree)
    assert (after.joint_names, after.wheel_names) == (before.joint_names, before.wheel_names)
    assert after.tree.couplings == before.tree.couplings
    assert [wheel.radius for wheel in after.tree.wheels] == [wheel.radius for wheel in before.tree.wheels]
    assert {one.name: one.stops for one in after.tree.joints} == {
        one.name: one.stops if one.locked_at is None else None for one in before.tree.joints
    }
    q, v = random_state(before, 3)
    assert close(after.mass_matrix(q), before.mass_matrix(q), 1e-12)
    assert close(after.bias(q, v), before.bias(q, v), 1e-12)
    assert close(after.impact_jacobian(q, 1.0), before.impact_jacobian(q, 1.0), 1e-12)


@pytest.mark.parametrize("engine", [in_mujoco, in_pinocchio])
@pytest.mark.parametrize("name", list(TREES))
def test_other_engines_read_the_same_mass_matrix_gravity_and_bias_from_the_file(name, engine):
    rover = Rover(TREES[name])
    q, v = random_state(rover, 3)
    text = to_urdf(rover.tree, whole=True)
    assert text.count("<collision") == text.count("<visual") == text.count("<link")
    assert max(difference(of_ours(rover, q, v), engine(text, rover, q, v))) <= 1e-9


def test_a_file_by_somebody_else_is_the_rover_that_other_engines_read_from_it():
    rover = Rover(rover_of(read_urdf(EXAMPLE)).tree)
    turned = {"fr_axle": -1.0, "rr_axle": -1.0}  # axles to starboard in the file
    q, v = random_state(rover, 3)
    ours = of_ours(rover, q, v)
    # 1.5708 is no right angle to them, and the mesh is not there
    text = EXAMPLE.replace("1.5708", repr(math.pi / 2.0))
    text = text.replace('<mesh filename="package://four_wheel_rocker/rocker.dae"/>', '<sphere radius="0.1"/>')
    assert max(difference(ours, in_pinocchio(text, rover, q, v, turned))) <= 1e-9
    assert max(difference(ours, in_mujoco(text, rover, q, v, turned, "base_footprint"))) <= 1e-9


def test_a_joint_that_follows_two_cannot_be_written():
    tree = PRESETS["rcp"].tree()
    tied = type(tree)(
        tree.name,
        tree.bodies,
        tree.joints,
        tree.wheels,
        (Coupling("rear_bogie", (("left_bogie", 0.5), ("right_bogie", -0.5))),),
    )
    with pytest.raises(ValueError, match="rear_bogie follows left_bogie, right_bogie, allowed in a URDF: one joint"):
        to_urdf(tied, whole=True)
