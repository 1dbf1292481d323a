"""Laws of impact with friction: what each keeps, and that Stronge's never makes energy."""

from __future__ import annotations

import numpy as np
import pytest

from models.contact.cone_solver import solve_cones
from models.contact.cones import make_cones
from models.contact.rebound import LAWS, WIDEST, make_rebound, rebound
from references.impact_path import impact_path

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

TOLERANCE = 1e-12


def hit(law, e, rows, v, mu):
    """Speeds after the impact of one contact of a body of unit mass matrix."""
    cones = make_cones(1, v.size)
    after = make_rebound("stronge" if law == "newton" else law, cones)
    cones.half[:], cones.friction[:], cones.target[:] = rows, mu, rows @ v
    closing = max(-cones.target[0], 0.0)
    if law == "newton":
        cones.target[0] -= e * closing
    residual, _ = solve_cones(cones, 1, TOLERANCE)
    if law != "newton":
        after.closing[0], after.restitution[0] = closing, e
        residual = max(residual, rebound(cones, 1, after, TOLERANCE))
    assert residual <= 10.0 * TOLERANCE
    return v + rows.T @ cones.impulse


def coupled(rng):
    """A contact whose normal impulse also turns its sliding round, and speeds at which it closes."""
    rows, v = rng.normal(size=(3, 4)), rng.normal(size=4)
    rows[1] += 1.5 * rows[0]
    return rows, v if rows[0] @ v < 0.0 else -v


def energy_made(law, count=60):
    rng, made = np.random.default_rng(1), []
    for _ in range(count):
        rows, v = coupled(rng)
        after = hit(law, 0.8, rows, v, rng.uniform(0.1, 1.5))
        made.append((after @ after) / (v @ v) - 1.0)
    return np.array(made)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("e", [0.0, 0.1, 0.7, 1.0])
def test_of_a_central_impact_all_laws_give_e_times_the_speed(law, e):
    after = hit(law, e, np.eye(3), np.array([-2.0, 0.0, 0.0]), 0.4)
    assert after == pytest.approx([2.0 * e, 0.0, 0.0], abs=1e-8)


def test_stronges_law_makes_no_energy_where_friction_turns_the_sliding_round():
    assert energy_made("stronge").max() < 1e-9


def test_newtons_law_makes_energy_in_the_same_impacts():
    assert energy_made("newton").max() > 0.1


def test_poissons_law_gives_e_times_the_normal_impulse():
    rng = np.random.default_rng(2)
    for _ in range(20):
        rows, v = coupled(rng)
        plastic, whole = (hit("poisson", e, rows, v, 0.3) - v for e in (0.0, 0.5))
        frame = np.linalg.pinv(rows.T)  # impulses from what they change
        assert (frame @ whole)[0] == pytest.approx(1.5 * (frame @ plastic)[0], rel=1e-6)


def along_and_hit(law, e, count, seed=3):
    """Speeds in the plane before, after along the path, and after: random impacts whose sliding does not turn round."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        rows, v = coupled(rng)
        rows[2] = 0.0  # no sliding to the side
        mu, met = rng.uniform(0.1, 1.0), rows[:2] @ v
        try:
            along = impact_path(rows[:2] @ rows[:2].T, met, mu, e, law)
        except ValueError:
            continue
        if along[1] * met[1] >= 0.0:
            found.append((met, along, rows[:2] @ hit(law, e, rows, v, mu)))
    return np.array(found).swapaxes(0, 1)


def test_poissons_law_in_a_plane_is_that_along_the_path_also_where_friction_jams_unless_the_sliding_turns_round():
    """Also where the wheel parts faster than it came: friction that presses it in has ended when it is given back."""
    met, along, after = along_and_hit("poisson", 0.8, 400)
    within = along[:, 0] < -0.8 * WIDEST * met[:, 0]  # what parts faster is no impact of these laws
    assert (np.abs(after - along).max(axis=1) <= 1e-7 * np.abs(met).max(axis=1))[within].all()
    assert (after[~within, 0] <= -0.8 * WIDEST * met[~within, 0] * (1.0 + 1e-9)).all()
    assert (-along[:, 0] / met[:, 0])[within].max() > 5.0


def test_stronges_law_in_a_plane_is_that_along_the_path_in_some_impacts_only_and_never_far_from_it():
    """Its works are those of straight lines, and the path bends where the sliding ends."""
    met, along, after = along_and_hit("stronge", 0.8, 100)
    off = np.abs(after - along).max(axis=1) / np.abs(met).max(axis=1)
    assert 20 < (off < 1e-6).sum() < 50
    assert off.max() < 0.25


def test_a_law_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match="restitution law is 'kane', allowed: 'newton', 'poisson', 'stronge'"):
        make_rebound("kane", make_cones(1, 6))
