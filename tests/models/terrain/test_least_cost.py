"""The way of least cost: against all ways of a small grid, by its symmetries, and what cannot be driven."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from models.terrain import make_height_map
from models.terrain.least_cost import MOVES, Traverse, least_cost, least_cost_on_grid, standing, way_along

WHEELS = np.array([[0.1, 0.1], [0.1, -0.1], [-0.1, 0.1], [-0.1, -0.1]])


def uphill(grade):
    return 100.0 * (1.0 + 5.0 * np.maximum(grade, -0.1))


ROVER = Traverse(WHEELS, uphill, math.radians(30.0))


def rough(seed=2, high=0.06):
    random = np.random.default_rng(seed)
    return make_height_map(high * random.standard_normal((11, 10)), -1.0, -1.0, 0.4)


def cheapest(relief, rover, spacing, start, goal, heading=None):
    """The cost of the cheapest of all ways, by relaxing every edge again and again; a state is a node and a move."""
    low_x, high_x, low_y, high_y = relief.extent
    nodes = list(
        itertools.product(range(int((high_x - low_x) / spacing) + 1), range(int((high_y - low_y) / spacing) + 1))
    )
    place = {node: (low_x + spacing * node[0], low_y + spacing * node[1]) for node in nodes}
    near = {name: min(nodes, key=lambda n: math.dist(place[n], at)) for name, at in (("start", start), ("goal", goal))}

    def turned(one, other):
        across, along = one[0] * other[1] - one[1] * other[0], one[0] * other[0] + one[1] * other[1]
        return rover.turn * abs(math.atan2(across, along))

    edges = [
        (one, move, way_along(relief, rover, np.array([place[one], place[other]]), step=10.0).cost)
        for one in nodes
        for move in MOVES
        if (other := (one[0] + move[0], one[1] + move[1])) in place
    ]
    cost = {(node, move): math.inf for node in nodes for move in MOVES}
    ahead = None if heading is None else (math.cos(heading), math.sin(heading))
    turns = {(one, other): turned(one, other) for one in MOVES for other in MOVES}
    changed = True
    while changed:
        changed = False
        for one, move, by in edges:
            begin = min(cost[one, before] + turns[before, move] for before in MOVES)
            if one == near["start"]:
                begin = min(begin, 0.0 if ahead is None else turned(ahead, move))
            state = ((one[0] + move[0], one[1] + move[1]), move)
            if begin + by < cost[state] - 1e-12:
                cost[state], changed = begin + by, True
    return min(cost[near["goal"], move] for move in MOVES)


@pytest.mark.parametrize(("turn", "heading"), [(0.0, None), (30.0, None), (80.0, 2.0)])
def test_no_way_of_a_small_grid_is_cheaper(turn, heading):
    relief, rover = rough(3), ROVER._replace(turn=turn)
    start, goal = (-0.2, -0.2), (2.2, 1.8)
    found = least_cost_on_grid(relief, rover, start, goal, spacing=0.5, heading=heading)
    assert found.cost == pytest.approx(cheapest(relief, rover, 0.5, start, goal, heading), rel=1e-12)
    again = way_along(relief, rover, found.places, step=10.0, heading=heading)
    assert again.cost == pytest.approx(found.cost, rel=1e-12)
    whole = way_along(relief, rover, found.places, heading=heading).cost  # in steps that begin at its nodes
    assert least_cost(relief, rover, start, goal, spacing=0.5, heading=heading).cost <= 1.001 * whole


def test_a_turn_costs_its_angle_and_a_rover_that_turns_dearly_has_fewer_corners():
    flat = make_height_map(np.zeros((30, 30)), -1.0, -1.0, 0.1)
    places, rover = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]), ROVER._replace(turn=7.0)
    assert way_along(flat, rover, places).cost == pytest.approx(200.0 + 7.0 * math.pi / 2.0)
    assert way_along(flat, rover, places, heading=math.pi).cost == pytest.approx(200.0 + 7.0 * 1.5 * math.pi)
    found = least_cost(flat, rover, (-0.5, 0.0), (1.3, 0.4), heading=0.0)
    assert len(found.places) == 2  # the corners of the grid's ways are gone
    assert found.cost == pytest.approx(100.0 * math.hypot(1.8, 0.4) + 7.0 * math.atan2(0.4, 1.8))
    relief = rough(4)
    free, dear = (least_cost(relief, ROVER._replace(turn=turn), (-0.2, -0.2), (2.0, 1.6)) for turn in (0.0, 300.0))
    assert len(dear.places) < len(free.places)


def test_on_level_ground_the_way_is_straight_and_costs_its_length():
    flat = make_height_map(np.zeros((30, 30)), -1.0, -1.0, 0.1)
    found = least_cost(flat, ROVER, (-0.5, 0.0), (1.3, 0.9))
    assert found.length == pytest.approx(math.hypot(1.8, 0.9))
    assert found.cost == pytest.approx(100.0 * found.length)


def test_it_goes_round_a_mound_that_costs_more_and_is_never_dearer_than_the_straight_way():
    x, y = np.meshgrid(0.1 * np.arange(60) - 1.0, 0.1 * np.arange(50) - 2.5, indexing="ij")
    relief = make_height_map(0.6 * np.exp(-((x - 2.0) ** 2 + y**2) / 0.5), -1.0, -2.5, 0.1)
    start, goal = (0.0, 0.0), (4.0, 0.0)
    found = least_cost(relief, ROVER, start, goal)
    straight = way_along(relief, ROVER, np.array([start, goal]))
    assert found.cost < 0.95 * straight.cost
    assert np.abs(found.places[:, 1]).max() > 0.5


def test_a_rover_stands_on_the_mean_of_its_wheels_turned_with_it():
    relief = make_height_map(np.add.outer(0.1 * np.arange(20), 0.03 * np.arange(20)), -1.0, -1.0, 0.1)  # 1 and 0.3
    heading = 0.7
    port, starboard = standing(relief, np.array([0.0]), np.array([0.1]), heading, WHEELS)[:, 0]
    assert 0.5 * (port + starboard) == pytest.approx(1.0 + 0.3 * 1.1)
    assert port - starboard == pytest.approx(0.2 * (-1.0 * math.sin(heading) + 0.3 * math.cos(heading)))


def test_what_is_beside_the_map_too_steep_or_tilts_too_far_is_not_driven():
    relief = rough()
    with pytest.raises(ValueError, match="goal is at x 9 m"):
        least_cost(relief, ROVER, (0.0, 0.0), (9.0, 0.0))
    with pytest.raises(ValueError, match="no route"):
        least_cost(relief, ROVER._replace(most_roll=1e-6), (0.0, 0.0), (2.0, 1.0))
    with pytest.raises(ValueError, match="nodes"):
        least_cost(relief, ROVER, (0.0, 0.0), (2.0, 1.0), spacing=0.005)
    wall = Traverse(WHEELS, lambda grade: np.where(grade > 0.3, np.inf, 1.0), 1.0)
    steep = make_height_map(np.add.outer(0.05 * np.arange(30), np.zeros(30)), -1.0, -1.0, 0.1)  # grade 0.46
    assert way_along(steep, wall, np.array([(0.0, 0.0), (1.0, 0.0)])).cost == math.inf
    assert math.isfinite(way_along(steep, wall, np.array([(1.0, 0.0), (0.0, 0.0)])).cost)
    found = least_cost(steep, wall, (0.0, 0.0), (1.0, 0.0))  # it climbs aslant
    assert found.length > 1.3
