"""Our mass matrix and bias against the recursive axis-chain equations of Xu 2021, (1)-(19)."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.rover import juno, rcp, xu
from models.rover.rover import Rover
from references.axis_chain import AxisChain

ROVERS = {
    "xu": xu,
    "xu, all 16 joints free": lambda: xu(locks={"steering": None, "arm": None}),
    "xu, arms and steers turned": lambda: xu(locks={"left_arm": 0.2, "right_arm": -0.1, "steering": 0.3}),
    "rcp": rcp,
    "juno with chains": juno,
    "juno, 13 speeds": lambda: juno(chains=False, locks={"spin": None}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROVERS)
def test_mass_matrix_and_bias_equal_the_axis_chain_equations(name: str) -> None:
    rover: Rover = ROVERS[name]()
    chain, random = AxisChain(rover.tree, rover.joint_names), np.random.default_rng(5)
    for _ in range(5):
        q = np.concatenate(
            [random.uniform(-2, 2, 3), Rotation.random(rng=random).as_quat(), random.uniform(-1, 1, rover.nv - 6)]
        )
        v, gravity = random.uniform(-2, 2, rover.nv), tuple(random.uniform(-5, 5, 3).tolist())
        M, bias = chain.dynamics(q, v, gravity)
        ours, force = rover.mass_matrix(q), rover.bias(q, v, gravity)
        assert np.abs(ours - M).max() < 1e-9 * np.abs(M).max()
        assert np.abs(force - bias).max() < 1e-9 * np.abs(bias).max()


def test_his_rover_has_16_joints_beside_the_differential() -> None:
    rover = xu(locks={"steering": None, "arm": None})
    kinds = [name.rsplit("_", 1)[-1] for name in rover.joint_names]
    assert {kind: kinds.count(kind) for kind in kinds} == {"rocker": 1, "arm": 2, "bogie": 2, "steering": 6, "drive": 6}
    assert rover.tree.body["main_body"].mass == 127.0
    assert rover.tree.body["main_body"].inertia == (40.0, 40.0, 40.0)
    assert rover.tree.body["front_left_wheel"].mass == 3.674
    assert rover.tree.body["front_left_wheel"].inertia == (2.0, 2.0, 2.0)
