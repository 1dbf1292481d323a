"""The bending shapes of a flexible wheel against a ring of 720 beam elements."""

import numpy as np
import pytest

from models.wheel import FlexibleWheel, Ring, Soil
from models.wheel.flexible_ring import balance, resultants_of, rims
from references.flexible_ring import BeamRing, on_soil

RADIUS, WIDTH = 0.125, 0.1
BENDING, HUB = 0.5, 3000.0
SAND = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.1, slip_modulus=0.185)


@pytest.fixture(scope="module")
def beams():
    return BeamRing(RADIUS, BENDING, HUB)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_the_stiffness_of_a_bending_shape_is_that_of_the_beams(beams, order):
    outwards = np.stack((np.sin(beams.angles), -np.cos(beams.angles)), axis=1)
    wave = np.cos(order * beams.angles)
    moved = beams.deflected(outwards * wave[:, None] * (2.0 * np.pi / beams.nodes))
    deflection = (moved * outwards).sum(1) @ wave * 2.0 / beams.nodes
    ring = Ring(BENDING, HUB)
    assert np.pi / deflection == pytest.approx(ring.stiffnesses(RADIUS)[2 + order - 2], rel=1e-4)


def test_deflection_under_a_point_load_tends_to_that_of_the_beams(beams):
    forces = np.zeros((beams.nodes, 2))
    forces[beams.nodes // 2, 1] = 100.0
    beam = beams.deflected(forces)[beams.nodes // 2, 1]
    series = []
    for modes in (3, 5, 8, 12):
        stiffness = Ring(BENDING, HUB, modes).stiffnesses(RADIUS)
        series.append(100.0 / stiffness[1] + (100.0 / stiffness[1 + modes :]).sum())
    assert series == sorted(series)
    assert series[1] == pytest.approx(beam, rel=0.03)
    assert series[-1] == pytest.approx(beam, rel=0.003)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.8])
def test_load_resistance_and_depth_on_soil_are_those_of_the_beams(beams, share):
    beam = on_soil(beams, WIDTH, SAND, np.array([0.002, 0.005, 0.008, 0.012]), share)
    for modes, allowed in ((5, (0.01, 0.08, 0.05)), (12, (0.005, 0.02, 0.01))):
        under = rims(Ring(BENDING, HUB, modes), RADIUS, WIDTH, SAND, np.array([0.012]))
        found = resultants_of(under, balance(under, np.array(share)), np.array(share))
        for one, other, error in zip((found.vertical, found.resistance, found.deepest), beam, allowed, strict=True):
            assert float(one[0]) == pytest.approx(other, rel=error)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "hub"), [(0.004, 0.0062), (0.004, 0.016), (0.002, 0.012), (0.0055, 0.02)])
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_in_a_rut_the_table_has_the_load_and_the_resistance_of_the_beams(beams, before, hub, share):
    floor = (1.0 - SAND.rebound) * before
    load, resistance, _ = on_soil(beams, WIDTH, SAND, floor + (hub - floor) * np.linspace(0.2, 1.0, 6), share, before)
    found = FlexibleWheel(RADIUS, WIDTH, SAND, Ring(BENDING, HUB, 12), ruts=True).normal_force_in_rut(
        hub, before, share
    )
    assert found.vertical == pytest.approx(load, rel=0.01)
    assert found.resistance == pytest.approx(resistance, abs=0.002 * load)
