"""The route of least cost between two places of a height map, for a rover whose cost of a metre depends on the grade.

The map becomes a grid whose nodes are joined to 16 neighbours: along the axes, the diagonals and the knight's moves. A
state is a node and one of these 16 headings: from it the rover goes on along its heading, or turns to the next heading,
which costs in proportion to the angle. A rover that goes along an edge stands with each wheel on the surface, headed
along the edge; its height is the mean of those under its wheels. Edges on which a wheel is outside the map, or that are
too steep or tilt the rover too far, are left out. Dijkstra's algorithm is that of scipy.sparse.csgraph.

A route between 16 headings has corners that only the grid makes. So in the end its corners are left out where the
straight line between two others costs less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.terrain.height_map import HeightMap, local

# To the 16 neighbours: those that no nearer one hides; by their heading, from -pi on.
MOVES = tuple(
    sorted(
        ((i, j) for i in range(-2, 3) for j in range(-2, 3) if math.gcd(i, j) == 1),
        key=lambda move: math.atan2(move[1], move[0]),
    )
)
_HEADINGS = tuple(math.atan2(j, i) for i, j in MOVES)
MOST_NODES = 40_000

Cost = Callable[[FloatArray], FloatArray]


class MapRoute(NamedTuple):
    """A route over the map.

    Attributes:
        places: (points, 2) [m].
        length: over the ground [m].
        cost: of it all, turns at its corners included; infinite where a part of it cannot be driven.
    """

    places: FloatArray
    length: float
    cost: float


class Traverse(NamedTuple):
    """What is known of a rover for a route.

    Attributes:
        wheels: (wheels, 2) places of the wheels, x ahead and y to port of its origin [m].
        cost: of a metre over the ground (n,), by the grades there [rad], positive uphill; infinite: too steep.
        most_roll: largest tilt to a side [rad].
        turn: cost of a turn by a radian.
    """

    wheels: FloatArray
    cost: Cost
    most_roll: float
    turn: float = 0.0


@kernel
def _heights(relief: HeightMap, x: FloatArray, y: FloatArray, out: FloatArray) -> None:
    """Heights [m] at places [m]; NaN outside the map."""
    columns, rows = relief.height.shape
    one = relief.spacing
    for i in range(x.size):
        inside_x = relief.x + one <= x[i] <= relief.x + (columns - 2) * one
        inside_y = relief.y + one <= y[i] <= relief.y + (rows - 2) * one
        out[i] = local(relief, x[i], y[i])[0] if inside_x and inside_y else np.nan


def standing(relief: HeightMap, x: FloatArray, y: FloatArray, heading: float, wheels: FloatArray) -> FloatArray:
    """Height (2, n) [m] of rovers at places (n,) with one heading [rad]; of their wheels to port, and to starboard."""
    c, s = math.cos(heading), math.sin(heading)
    means = []
    for side in (wheels[wheels[:, 1] > 0.0], wheels[wheels[:, 1] <= 0.0]):
        found = np.zeros((len(side), x.size))
        for row, (ahead, left) in zip(found, side.tolist(), strict=True):
            _heights(relief, x + c * ahead - s * left, y + s * ahead + c * left, row)
        means.append(found.mean(axis=0))
    return np.array(means)


def least_cost(
    relief: HeightMap,
    rover: Traverse,
    start: tuple[float, float],
    goal: tuple[float, float],
    spacing: float | None = None,
    heading: float | None = None,
) -> MapRoute:
    """The cheapest route from the node nearest to `start` to that nearest to `goal`, without corners that cost more.

    Args:
        relief: the ground.
        rover: what drives over it.
        start: x and y [m], on the map.
        goal: likewise.
        spacing: of the grid [m]; None: that of the map, or more, so that there are at most `MOST_NODES`.
        heading: of the rover at the start, from x to y [rad]; None: it costs nothing to begin in any direction.

    Raises:
        ValueError: a place outside the map, a grid with too many nodes, or no route at all.
    """
    places = least_cost_on_grid(relief, rover, start, goal, spacing, heading).places
    return _fewest_corners(relief, rover, _corners(places), heading)


def least_cost_on_grid(
    relief: HeightMap,
    rover: Traverse,
    start: tuple[float, float],
    goal: tuple[float, float],
    spacing: float | None = None,
    heading: float | None = None,
) -> MapRoute:
    """The cheapest route between nodes of the grid, as `least_cost`; edges are as steep as their ends are apart."""
    low_x, high_x, low_y, high_y = relief.extent
    for name, (x, y) in (("start", start), ("goal", goal)):
        if not (low_x <= x <= high_x and low_y <= y <= high_y):
            allowed = f"x {low_x:.2f} to {high_x:.2f}, y {low_y:.2f} to {high_y:.2f}"
            raise ValueError(f"{name} is at x {x:g} m, y {y:g} m, allowed: {allowed}")
    area = (high_x - low_x) * (high_y - low_y)
    one = max(relief.spacing, math.sqrt(area / MOST_NODES)) if spacing is None else spacing
    columns, rows = int((high_x - low_x) / one) + 1, int((high_y - low_y) / one) + 1
    count = columns * rows
    if count > 1.1 * MOST_NODES + 1000:
        raise ValueError(f"spacing is {one:g} m, {count} nodes, allowed: {MOST_NODES} nodes")
    along, across = (np.asarray(low + one * np.arange(n)) for low, n in ((low_x, columns), (low_y, rows)))
    first, last = (round((px - low_x) / one) * rows + round((py - low_y) / one) for px, py in (start, goal))
    # the last state is before the first turn
    source, headings = len(MOVES) * count, np.arange(len(MOVES))
    begins = np.array([0.0 if heading is None else rover.turn * _apart(heading, other) for other in _HEADINGS])
    costs, tails, tips = zip(
        *_moves(relief, rover, along, across),
        *_turns(rover.turn, count),
        (begins, np.full(len(MOVES), source), headings * count + first),
        strict=True,
    )
    graph: Any = csr_array(
        (np.concatenate(costs), (np.concatenate(tails), np.concatenate(tips))), shape=(source + 1, source + 1)
    )
    of_start, befores = dijkstra(graph, indices=np.array([source]), return_predecessors=True)
    ends = headings * count + last
    state = int(ends[of_start[0][ends].argmin()])
    if not math.isfinite(of_start[0][state]):
        raise ValueError("there is no route from start to goal: all are too steep, or tilt the rover too far")
    nodes = [last]
    while state != source:
        if state % count != nodes[-1]:
            nodes.append(state % count)
        state = int(befores[0][state])
    places = np.array([(along[node // rows], across[node % rows]) for node in reversed(nodes)])
    return MapRoute(places, way_along(relief, rover, places).length, float(of_start[0][ends].min()))


def _apart(one: float, other: float) -> float:
    """Angle between two headings [rad], 0 to pi."""
    return abs(math.remainder(one - other, 2.0 * math.pi))


def _turns(turn: float, count: int) -> Iterator[tuple[FloatArray, IntArray, IntArray]]:
    """Costs of turns to both next headings, and their ends as numbers of states."""
    nodes = np.arange(count)
    for one in range(len(MOVES)):
        other = (one + 1) % len(MOVES)
        cost = np.full(count, turn * _apart(_HEADINGS[one], _HEADINGS[other]))
        yield cost, one * count + nodes, other * count + nodes
        yield cost, other * count + nodes, one * count + nodes


def _corners(places: FloatArray) -> FloatArray:
    """Both ends of a route, and its places where it changes its direction."""
    steps = np.diff(places, axis=0)
    turned = np.abs(steps[1:, 0] * steps[:-1, 1] - steps[1:, 1] * steps[:-1, 0]) > 1e-9
    return places[np.concatenate([[True], turned, [True]])[: len(places)]]


def _fewest_corners(relief: HeightMap, rover: Traverse, places: FloatArray, heading: float | None) -> MapRoute:
    """The route without those corners that cost more than the straight line past them; the dearest first."""
    best = way_along(relief, rover, places, heading=heading)
    while len(best.places) > 2:
        shorter = min(
            (
                way_along(relief, rover, np.delete(best.places, corner, axis=0), heading=heading)
                for corner in range(1, len(best.places) - 1)
            ),
            key=lambda route: route.cost,
        )
        if not shorter.cost < best.cost:
            break
        best = shorter
    return best


def _moves(
    relief: HeightMap, rover: Traverse, x: FloatArray, y: FloatArray
) -> Iterator[tuple[FloatArray, IntArray, IntArray]]:
    """Costs of all edges that can be driven, and their ends as numbers of states."""
    columns, rows = x.size, y.size
    at_x, at_y = (axis.ravel() for axis in np.meshgrid(x, y, indexing="ij"))
    number = np.arange(columns * rows).reshape(columns, rows)
    for one, ((i, j), heading) in enumerate(zip(MOVES, _HEADINGS, strict=True)):
        port, starboard = standing(relief, at_x, at_y, heading, rover.wheels)
        source = number[max(-i, 0) : columns - max(i, 0), max(-j, 0) : rows - max(j, 0)].ravel()
        target = number[max(i, 0) : columns + min(i, 0), max(j, 0) : rows + min(j, 0)].ravel()
        cost = _cost(rover, np.array([port[source], starboard[source]]), np.array([port[target], starboard[target]]),
                     (x[1] - x[0]) * math.hypot(i, j))[1]  # fmt: skip
        kept = np.isfinite(cost)
        yield cost[kept], one * number.size + source[kept], one * number.size + target[kept]


def _cost(
    rover: Traverse, begin: FloatArray, end: FloatArray, level: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lengths over the ground [m] and costs of edges (n,); both sides' heights (2, n) at their ends, level lengths."""
    track = float(np.ptp(rover.wheels[:, 1]))
    rise = (end - begin).mean(axis=0)
    length = np.hypot(rise, level)
    roll = np.maximum(*np.abs(np.arctan2([begin[0] - begin[1], end[0] - end[1]], track)))
    known = np.isfinite(rise)
    cost = np.full(rise.shape, np.inf)
    cost[known] = (length * rover.cost(np.arctan2(np.where(known, rise, 0.0), level)))[known]
    return length, np.where(roll <= rover.most_roll, cost, np.inf)


def way_along(
    relief: HeightMap, rover: Traverse, places: FloatArray, step: float = 0.05, heading: float | None = None
) -> MapRoute:
    """Length and cost of a given route, straight between its places (n, 2) [m], in steps of at most `step` [m].

    Args:
        relief: the ground.
        rover: what drives over it.
        places: at least two.
        step: see above.
        heading: of the rover at the start [rad]; None: it costs nothing to begin in any direction.
    """
    length = cost = 0.0
    before = heading
    for (x0, y0), (x1, y1) in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
        level, towards = math.hypot(x1 - x0, y1 - y0), math.atan2(y1 - y0, x1 - x0)
        parts = max(math.ceil(level / step - 1e-9), 1)
        x, y = np.linspace(x0, x1, parts + 1), np.linspace(y0, y1, parts + 1)
        height = standing(relief, x, y, towards, rover.wheels)
        lengths, costs = _cost(rover, height[:, :-1], height[:, 1:], level / parts)
        length, cost = length + float(lengths.sum()), cost + float(costs.sum())
        cost += 0.0 if before is None else rover.turn * _apart(before, towards)
        before = towards
    return MapRoute(places, length, cost)
