"""What is fitted to a rover: a ballast that slides, on any rover, by hand statics and by Pinocchio."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from models.gravity import GRAVITY_MPS2
from models.rover import ROVERS, RcpParameters, Rover, XuParameters, xu
from models.rover.fittings import BALLAST, Ballast, fitted, with_shape
from models.statics import stand

WEIGHT = Ballast(25.0, (0.05, 0.0, 1.0), 0.4, 0.2)


def loads(rover, way):
    """Loads of the wheels on level ground [N], with the ballast at a displacement [m]."""
    q = rover.neutral()
    q[7 + rover.joint_names.index(BALLAST)] = way
    standing = stand(rover, q, held=[BALLAST])
    return np.linalg.lstsq(standing.normal.T, standing.load, rcond=None)[0], standing.centre


def test_a_ballast_moves_the_loads_of_the_rcps_wheels_as_levers_do():
    rover = fitted(RcpParameters, (WEIGHT,)).make(locks={BALLAST: None})
    (before, _), (after, _) = loads(rover, 0.0), loads(rover, 0.3)
    # Table 4-1: side bogies pitch at 0.2671 m on wheels at 0.5349 and 0 m; the rear wheels stand at -0.5381 m
    moment = 25.0 * GRAVITY_MPS2 * 0.3
    rear = -moment / (0.2671 + 0.5381)
    front = -rear * 0.2671 / 0.5349
    middle = -rear - front
    by_hand = 0.5 * np.repeat([front, middle, rear], 2)
    assert after - before == pytest.approx(by_hand, rel=1e-9)
    assert after.sum() == pytest.approx(145.0 * GRAVITY_MPS2, rel=1e-12)


@pytest.mark.parametrize("name", ["rcp", "exomars", "juno", "xu"])
def test_a_ballast_moves_the_centre_of_mass_of_any_rover_as_pinocchio_has_it(name, as_peer):
    rover = fitted(ROVERS[name], (WEIGHT,)).make(locks={BALLAST: None})
    peer, without = as_peer(rover), ROVERS[name].make()
    assert rover.mass == pytest.approx(without.mass + 25.0, rel=1e-12)
    for way in (-0.4, 0.25):
        q = rover.neutral()
        q[7 + rover.joint_names.index(BALLAST)] = way
        whole = rover.tree_configuration(q)
        theirs = peer.pinocchio.centerOfMass(peer.model, peer.data, peer.q(whole))
        assert stand(rover, q, held=[BALLAST]).centre == pytest.approx(theirs, abs=1e-9)
        M = rover.mass_matrix(q)
        assert M[1, 5] / M[0, 0] == pytest.approx(theirs[0], abs=1e-9)


def test_a_rover_with_a_ballast_has_its_own_numbers_and_is_the_same_in_another_process():
    kind = fitted(RcpParameters, (WEIGHT,))
    assert kind.quantities() == RcpParameters.quantities()
    assert set(kind.lockable()) - set(RcpParameters.lockable()) == {BALLAST}
    assert (kind.sliding(), kind.turning()) == ({BALLAST}, RcpParameters.turning())
    rover = kind(body_mass=70.0)
    again = pickle.loads(pickle.dumps(rover))
    assert (again, type(again)) == (rover, kind)
    assert again.tree().body[BALLAST].mass == 25.0


def test_a_second_ballast_is_refused():
    tree = WEIGHT.on(RcpParameters().tree())
    with pytest.raises(ValueError, match="body named twice: ballast"):
        WEIGHT.on(tree)
    with pytest.raises(ValueError, match=r"mass is 0\.0 kg, allowed: above 0"):
        Rover(WEIGHT._replace(mass=0.0).on(RcpParameters().tree()))


MASSES = {"wing_mass": 2.0, "antenna_mass": 3.0, "mast_mass": 4.0}


def test_xus_rover_with_all_its_parts_has_his_25_independent_joints():
    """Xu 2021, section 1: 16 of arms and wheels, four wings of one, an antenna of two, a mast of three."""
    freed = dict.fromkeys(("steering", "arm", "wing", "pan", "tilt", "foot"))
    bare, whole = xu(locks={"steering": None, "arm": None}), xu(**MASSES, locks=freed)
    own = set(whole.joint_names) - {"left_rocker"}  # the differential, which nothing drives
    assert len(own) == 25
    assert len(own - set(bare.joint_names)) == 4 + 2 + 3
    assert whole.mass == pytest.approx(bare.mass + 4 * 2.0 + 3.0 + 4.0, rel=1e-12)
    level = (loads_of(one) for one in (bare, whole))
    assert np.diff([load.sum() for load in level])[0] == pytest.approx(15.0 * GRAVITY_MPS2, rel=1e-9)


def loads_of(rover):
    standing = stand(rover, rover.neutral(), held=[n for n in rover.joint_names if not n.endswith(SUSPENDED)])
    return np.linalg.lstsq(standing.normal.T, standing.load, rcond=None)[0]


SUSPENDED = ("_drive", "_rocker", "_bogie")


def test_parts_without_a_mass_are_not_there_and_change_nothing():
    assert xu(wing_length=2.0, antenna_width=1.0, mast_height=2.0).tree == xu().tree
    assert not {"mast_foot", "antenna_pan", "front_left_wing"} & {*XuParameters.lockable()}


def test_a_shape_gives_names_of_joints_and_leaves_the_keys_and_the_numbers():
    kind = with_shape(XuParameters, tuple(MASSES.items()))
    assert kind.quantities() == XuParameters.quantities()
    assert len(set(kind.lockable()) - set(XuParameters.lockable())) == 9
    assert kind.turning() == XuParameters.turning()  # they are locked
    assert pickle.loads(pickle.dumps(kind())).tree() == XuParameters(**MASSES).tree()
