"""Sensors in the rear links: the statics of App. C.2, solved link by link, and the readings that follow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.sensors.piezo import Piezo, check_piezo, make_piezo_state, sample_links
from models.sensors.rear_frame import (
    FRONT_LINK_M,
    REAR_LINK_M,
    contact_lever,
    frame_share,
    link_share,
    rear_link_angle,
    rear_link_reach,
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
    assert frame_share("rear", beta, RADIUS_M) == pytest.approx(printed, rel=0.025)  # printed to 1 degree, 1 cm, 1 mm


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
    assert frame_share("rear", beta, RADIUS_M) == pytest.approx(compression, rel=1e-12)


def mended_statics(beta, force, friction):
    """(C.1) with its misprints mended, all nine equations of the three links at once, without weight.

    The wheel pushes the plate with `force` along its normal and `friction` up along it. Unknown: forces of link 1 on
    links 2 and 3 and of link 2 on link 3 (x rearward, y up), and of the ground on link 3: N_1 and N_2 at the feet, and
    a hold along the ground at the rear foot. Returns compressions of rear and bottom link.
    """
    alpha, lever = rear_link_angle(beta), contact_lever(beta, RADIUS_M)
    base = REAR_LINK_M * math.sin(alpha + beta) / math.sin(beta)
    top = FRONT_LINK_M * np.array([math.cos(beta), math.sin(beta)])
    hit = lever * np.array([math.cos(beta), math.sin(beta)])
    wheel = force * np.array([math.sin(beta), -math.cos(beta)]) + friction * np.array([math.cos(beta), math.sin(beta)])
    rear = np.array([base, 0.0])
    x12, y12, x13, y13, x23, y23, n1, n2, held = range(9)
    A, b = np.zeros((9, 9)), np.zeros(9)

    def push(row, place, sign, x, y):
        """Force (x, y) on the link whose equations begin at a row, moments about the front foot."""
        A[row, x] += sign
        A[row + 1, y] += sign
        A[row + 2, y] += sign * place[0]
        A[row + 2, x] -= sign * place[1]

    push(0, top, -1, x12, y12)
    push(0, (0.0, 0.0), -1, x13, y13)
    b[:3] = -np.array([wheel[0], wheel[1], hit[0] * wheel[1] - hit[1] * wheel[0]])
    push(3, top, 1, x12, y12)
    push(3, rear, -1, x23, y23)
    push(6, (0.0, 0.0), 1, x13, y13)
    push(6, rear, 1, x23, y23)
    A[7, n1] = A[7, n2] = A[6, held] = 1.0
    A[8, n2] = base
    found = np.linalg.solve(A, b)
    # link 2 is compressed by what it hands from its top to its foot; link 3 by what the front foot pushes rearward
    return found[x23] * math.cos(alpha) - found[y23] * math.sin(alpha), found[x13]


@pytest.mark.parametrize("friction", [-30.0, 0.0, 20.0])
@pytest.mark.parametrize("beta_deg", [40.0, 60.0, 75.0, 90.0])
def test_both_kinds_of_links_bear_what_the_mended_equations_of_c1_say(beta_deg, friction):
    beta = math.radians(beta_deg)
    for link, compression in zip(("rear", "bottom"), mended_statics(beta, 100.0, friction), strict=True):
        assert 100.0 * frame_share(link, beta, RADIUS_M, friction=-friction / 100.0) == pytest.approx(
            compression, rel=1e-12
        )


@pytest.mark.parametrize("friction", [0.0, 12.0])
def test_sensors_in_the_bottom_links_read_force_and_friction(friction):
    beta = math.radians(50.0)
    piezo = LINKS._replace(rear_reach=rear_link_reach(beta), link=link_share("bottom", beta))
    lever = contact_lever(beta, RADIUS_M)
    _, compression = mended_statics(beta, 100.0, friction)
    assert reading(100.0, 0.1, lever, piezo=piezo, drag=friction).sum() == pytest.approx(compression, rel=1e-6)


def test_bottom_links_bear_more_and_depend_less_on_the_place_of_the_hit():
    for beta_deg in (40.0, 60.0, 90.0):
        beta = math.radians(beta_deg)
        changes = {}
        for link in ("rear", "bottom"):
            share, lower = (frame_share(link, beta, RADIUS_M, sinkage) for sinkage in (0.0, 0.005))
            changes[link] = abs(lower / share - 1.0)
        assert frame_share("bottom", beta, RADIUS_M) > frame_share("rear", beta, RADIUS_M)
        assert changes["bottom"] < 0.6 * changes["rear"]


def reading(force, across, lever, samples=1, piezo=LINKS, drag=0.0):
    out, state = np.zeros(2), make_piezo_state(2)
    for _ in range(samples):
        sample_links(piezo, state, force, across, lever, DT, np.zeros(2), out, None, drag)
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
        frame_share("rear", angle, radius)


@pytest.mark.parametrize("place", [[(0.1, 0.0), (0.1, 0.0)], [(math.nan, 0.0), (0.1, 0.0)]])
def test_links_without_a_distance_between_them_are_refused(place):
    with pytest.raises(ValueError, match="distance across"):
        check_piezo(LINKS._replace(place=np.array(place)))


def test_reach_is_the_lever_of_the_rear_link():
    assert rear_link_reach(math.radians(90.0)) == pytest.approx(FRONT_LINK_M * math.cos(rear_link_angle(math.pi / 2)))
