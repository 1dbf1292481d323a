"""Sensors in the rear links: the statics of App. C.2, solved link by link, and the readings that follow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.sensors.piezo import Piezo, check_piezo, make_piezo_state, sample_links
from models.sensors.rear_frame import (
    FRONT_LINK_M,
    contact_lever,
    rear_link_angle,
    rear_link_reach,
    rear_link_share,
)

# Table C-1: beta [deg], alpha [deg], L_3 [m], d [m]; its wheel has a radius of 0.175 m.
TABLE_C1 = (
    (40.0, 32.0, 0.91, 0.041),
    (50.0, 39.0, 0.79, 0.062),
    (60.0, 46.0, 0.67, 0.086),
    (70.0, 51.0, 0.55, 0.115),
    (80.0, 55.0, 0.44, 0.144),
    (90.0, 56.0, 0.34, 0.175),
)
RADIUS_M, DT = 0.175, 1.0 / 30e3
LINKS = Piezo(
    place=np.array([(0.254, np.nan), (-0.254, np.nan)]),
    sensitivity=np.ones(2), bias=np.zeros(2), noise=np.zeros(2), range=1e6, step=1e-9, droop_time=np.full(2, 1e9),
    ring_frequency=20.0, ring_damping=0.05, ring_share=0.0, rear_reach=0.3,
)  # fmt: skip


@pytest.mark.parametrize("row", TABLE_C1)
def test_share_is_that_of_the_numbers_of_table_c1(row):
    beta, alpha, base, height = row
    beta, alpha = math.radians(beta), math.radians(alpha)
    printed = height / math.sin(beta) / (base * math.sin(alpha))
    assert rear_link_share(beta, RADIUS_M) == pytest.approx(printed, rel=0.025)  # printed to 1 degree, 1 cm, 1 mm


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("beta_deg", [40.0, 60.0, 75.0, 90.0])
def test_compression_is_that_of_the_links_in_equilibrium(beta_deg, friction):
    """Forces and moments of the front link, and of the whole frame, solved together; friction changes nothing."""
    beta = math.radians(beta_deg)
    plate = np.array([math.cos(beta), math.sin(beta)])
    wheel = np.array([math.sin(beta), -math.cos(beta)]) + friction * plate  # per newton of normal force
    contact, top = contact_lever(beta, RADIUS_M) * plate, FRONT_LINK_M * plate
    alpha = rear_link_angle(beta)
    along = np.array([-math.cos(alpha), math.sin(alpha)])  # rear link, from its foot to the top

    def moment(arm, force):
        return arm[0] * force[1] - arm[1] * force[0]

    # unknown: hinge force at the front foot (2), compression of the rear link
    system = np.zeros((3, 3))
    system[:2, :2], system[:2, 2] = np.eye(2), along
    system[2, 2] = moment(top, along)
    *_, compression = np.linalg.solve(system, -np.array([*wheel, moment(contact, wheel)]))
    assert rear_link_share(beta, RADIUS_M) == pytest.approx(compression, rel=1e-12)


def reading(force, across, lever, samples=1):
    out, state = np.zeros(2), make_piezo_state(2)
    for _ in range(samples):
        sample_links(LINKS, state, force, across, lever, DT, np.zeros(2), out)
    return out


def test_both_links_together_read_the_force_by_its_lever():
    assert reading(100.0, 0.1, 0.06).sum() == pytest.approx(100.0 * 0.06 / 0.3, rel=1e-6)
    assert reading(100.0, 0.1, 0.09).sum() == pytest.approx(100.0 * 0.09 / 0.3, rel=1e-6)


def test_each_link_reads_by_its_distance_from_the_load():
    left, right = reading(100.0, 0.127, 0.09)
    assert left * (0.254 - 0.127) == pytest.approx(right * (0.127 + 0.254), rel=1e-6)
    left, right = reading(100.0, 0.0, 0.09)
    assert left == right


@pytest.mark.parametrize(
    ("angle", "radius"), [(0.0, 0.175), (-1.0, 0.175), (2.0, 0.175), (math.nan, 0.175), (1.0, 0.0)]
)
def test_angle_and_radius_out_of_range_are_refused(angle, radius):
    with pytest.raises(ValueError, match="rear frame"):
        rear_link_share(angle, radius)


@pytest.mark.parametrize("place", [[(0.1, 0.0), (0.1, 0.0)], [(math.nan, 0.0), (0.1, 0.0)]])
def test_links_without_a_distance_between_them_are_refused(place):
    with pytest.raises(ValueError, match="distance across"):
        check_piezo(LINKS._replace(place=np.array(place)))


def test_reach_is_the_lever_of_the_rear_link():
    assert rear_link_reach(math.radians(90.0)) == pytest.approx(FRONT_LINK_M * math.cos(rear_link_angle(math.pi / 2)))
