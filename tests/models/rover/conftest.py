"""All rovers, each also as modelled by an engine without couplings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.rover import (
    Body,
    TreeBuilder,
    exomars,
    exomars_like,
    juno,
    parametric,
    rcp,
    rocker_bogie,
    single_wheel,
    xu,
)
from models.rover.assembly import LATERAL, VERTICAL, on_side
from models.rover.rover import Rover
from models.rover.space_arm import SpaceArm
from models.rover.ties import Coupling

# the same as in the description, but written here again: dependent joint -> (sources, offset)
DIFFERENTIAL = {"right_rocker": ({"left_rocker": -1.0}, 0.0)}
CHAINS = {f"rear_{side}_drive": ({f"front_{side}_drive": 1.0}, 0.0) for side in ("left", "right")}
GEARED = {
    "rear_bogie": ({"left_bogie": 0.5, "right_bogie": -1.5}, 0.2),
    "front_left_steering": ({"rear_right_steering": 0.7}, -0.3),
    "middle_left_drive": ({"front_left_drive": 1.0}, 0.0),
}


def geared_exomars() -> Rover:
    """Acary's rover with gears of every sort: two sources, offsets, sources before and behind, wheels on one chain."""
    couplings = [Coupling(name, tuple(sources.items()), offset) for name, (sources, offset) in GEARED.items()]
    tree = exomars().tree
    return Rover(type(tree)(tree.name, tree.bodies, tree.joints, tree.wheels, tuple(couplings)))


STRUTS = {"right_strut": ({"left_strut": -0.7}, 0.02)}


def sliding() -> Rover:
    """Joints that slide: before and behind joints that turn, along slanted axes, coupled, and locked at a way."""
    builder = TreeBuilder("sliding", Body("main_body", 20.0, (0.05, 0.01, 0.4), (0.9, 1.1, 1.3)))
    builder.add_body(
        "main_body", "deck_lift", VERTICAL, "deck", 8.0, (0.3, 0.4, 0.6), (0.1, 0.0, 0.5), stop=0.1, slides=True
    )
    builder.add_body(
        "deck", "mast_turn", (0.6, 0.0, 0.8), "mast", 2.0, (0.05, 0.06, 0.02), (0.2, 0.0, 0.6), (0.2, 0.1, 0.9)
    )
    builder.add_body(
        "mast",
        "boom_slide",
        (0.0, 0.6, -0.8),
        "boom",
        1.0,
        (0.02, 0.03, 0.02),
        (0.2, 0.3, 0.9),
        locked_at=0.15,
        slides=True,
    )
    for side in ("left", "right"):
        hinge, leg = on_side((0.0, 0.3, 0.3), side), on_side((0.4, 0.4, 0.3), side)
        builder.add_body("main_body", f"{side}_rocker", LATERAL, f"{side}_rocker", 3.0, (0.1, 0.2, 0.2), hinge)
        slanted = on_side((0.36, 0.48, 0.8), side)
        builder.add_body(
            f"{side}_rocker", f"{side}_strut", slanted, f"{side}_leg", 1.5, (0.02, 0.03, 0.02), leg,
            on_side((0.4, 0.45, 0.2), side), slides=True,
        )  # fmt: skip
        for wheel, carrier, ahead in ((f"front_{side}", f"{side}_leg", 0.4), (f"rear_{side}", f"{side}_rocker", -0.4)):
            builder.wheel(wheel, carrier, 1.6, 0.12, 0.1, on_side((ahead, 0.5, 0.12), side))
    return Rover(builder.tree([Coupling(name, tuple(s.items()), offset) for name, (s, offset) in STRUTS.items()]))


FREE = {"walking": None, "steering": None}
ROVERS = {
    "rcp": (lambda: rcp(added_mass=22.7), {}),
    "rcp walking and steering": (lambda: rcp(locks=FREE), {}),
    "rcp turned": (lambda: rcp(locks={"walking": -0.6, "steering": 0.4, "front_left_steering": -0.2}), {}),
    "parametric": (lambda: parametric(walking_angle=math.radians(20.0), wheelbase=1.2), {}),
    "exomars_like": (exomars_like, {}),
    "exomars_like walking and steering": (lambda: exomars_like(locks=FREE), {}),
    "exomars": (exomars, {}),
    "rocker_bogie": (rocker_bogie, DIFFERENTIAL),
    "rocker_bogie steering": (lambda: rocker_bogie(locks={"steering": None}), DIFFERENTIAL),
    "exomars geared": (geared_exomars, GEARED),
    "sliding": (sliding, STRUTS),
    "juno": (juno, DIFFERENTIAL | CHAINS),
    "juno tilted": (lambda: juno(tilt_angle=0.2), DIFFERENTIAL | CHAINS),
    "juno of the thesis": (lambda: juno(chains=False, locks={"spin": None}), DIFFERENTIAL),
    "juno tilting": (lambda: juno(locks={"tilt": None, "spin": None}), DIFFERENTIAL | CHAINS),
    "xu": (xu, DIFFERENTIAL),
    "xu steering, its arms driven": (lambda: xu(locks={"steering": None, "arm": None}), DIFFERENTIAL),
    "xu, all that turns": (
        lambda: xu(
            wing_mass=2.0,
            antenna_mass=3.0,
            mast_mass=4.0,
            locks=dict.fromkeys(("steering", "arm", "wing", "foot", "pan", "tilt")),
        ),
        DIFFERENTIAL,
    ),
    "single_wheel": (single_wheel, {}),
    "space_arm": (lambda: SpaceArm().build(rigid=True), {}),
}


class Case:
    """A rover, and the complement of its couplings by the table above."""

    def __init__(self, name: str) -> None:
        build, couplings = ROVERS[name]
        self.rover = build()
        self.coupled = bool(couplings)
        names, own = self.rover.tree_joint_names, self.rover.joint_names
        self.N = np.zeros((6 + len(names), 6 + len(own)))
        self.N[:6, :6] = np.eye(6)
        self.offset = np.zeros(len(names))
        for row, joint in enumerate(names):
            sources, self.offset[row] = couplings.get(joint, ({joint: 1.0}, 0.0))
            for source, ratio in sources.items():
                self.N[6 + row, 6 + own.index(source)] = ratio

    def unlocked(self, q):
        """Configuration of all joints that turn."""
        return np.concatenate([q[:7], self.offset + self.N[6:, 6:] @ q[7:]])

    def state(self, seed: int):
        """Random configuration, velocity, generalised force, wheel wrenches and gravity."""
        random, nv = np.random.default_rng(seed), self.rover.nv
        q = random.normal(size=self.rover.nq)
        q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
        wrenches = 100.0 * random.normal(size=(len(self.rover.wheel_names), 6))
        return q, random.normal(size=nv), 10.0 * random.normal(size=nv), wrenches, 9.81 * random.normal(size=3)


def skip_without_wheels(case: Case) -> None:
    """An arm has none."""
    if not case.rover.wheel_names:
        pytest.skip(f"{case.rover.tree.name} has no wheels")


@pytest.fixture(scope="session", params=list(ROVERS))
def case(request) -> Case:
    return Case(request.param)


@pytest.fixture(scope="session")
def sliding_rover() -> Rover:
    return ROVERS["sliding"][0]()
