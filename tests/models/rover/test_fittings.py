"""What is fitted to a rover: a ballast that slides, on any rover, by hand statics and by Pinocchio."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from models.gravity import GRAVITY_MPS2
from models.rover import ROVERS, RcpParameters, Rover
from models.rover.fittings import BALLAST, Ballast, fitted
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
