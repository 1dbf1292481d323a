"""The way of least cost between two places of a height map, for a rover whose cost of a metre depends on the grade.

The map becomes a grid whose nodes are joined to 16 neighbours: along the axes, the diagonals and the knight's moves. A
rover that goes along an edge stands with each wheel on the surface, headed along the edge; its height is the mean of
those under its wheels. Edges on which a wheel is beside the map, or that are too steep or tilt the rover too far, are
left out. Dijkstra's algorithm is that of scipy.sparse.csgraph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from models.kernels.compiled import FloatArray, kernel
from models.terrain.height_map import HeightMap, local

MOVES = tuple(
    (i, j) for i in range(-2, 3) for j in range(-2, 3) if math.gcd(i, j) == 1
)  # to the 16 neighbours: those that no nearer one hides
MOST_NODES = 40_000

Cost = Callable[[FloatArray], FloatArray]


class Way(NamedTuple):
    """A way over the map.

    Attributes:
        places: (points, 2) [m].
        length: over the ground [m].
        cost: of it all; infinite where a part of it cannot be driven.
    """

    places: FloatArray
    length: float
    cost: float


class Traverse(NamedTuple):
    """What a rover is for a way.

    Attributes:
        wheels: (wheels, 2) places of the wheels, x ahead and y to port of its origin [m].
        cost: of a metre over the ground (n,), by the grades there [rad], positive uphill; infinite: too steep.
        most_roll: largest tilt to a side [rad].
    """

    wheels: FloatArray
    cost: Cost
    most_roll: float


@kernel
def _heights(relief: HeightMap, x: FloatArray, y: FloatArray, out: FloatArray) -> None:
    """Heights [m] at places [m]; NaN beside the map."""
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
) -> Way:
    """The way of least cost from the node nearest to `start` to that nearest to `goal`.

    Args:
        relief: the ground.
        rover: what drives over it.
        start: x and y [m], on the map.
        goal: likewise.
        spacing: of the grid [m]; None: that of the map, or more, so that there are at most `MOST_NODES`.

    Raises:
        ValueError: a place beside the map, a grid with too many nodes, or no way at all.
    """
    low_x, high_x, low_y, high_y = relief.extent
    for name, (x, y) in (("start", start), ("goal", goal)):
        if not (low_x <= x <= high_x and low_y <= y <= high_y):
            allowed = f"x {low_x:.2f} to {high_x:.2f}, y {low_y:.2f} to {high_y:.2f}"
            raise ValueError(f"{name} is at x {x:g} m, y {y:g} m, allowed: {allowed}")
    area = (high_x - low_x) * (high_y - low_y)
    one = max(relief.spacing, math.sqrt(area / MOST_NODES)) if spacing is None else spacing
    columns, rows = int((high_x - low_x) / one) + 1, int((high_y - low_y) / one) + 1
    if columns * rows > 1.1 * MOST_NODES + 1000:
        raise ValueError(f"spacing is {one:g} m, {columns * rows} nodes, allowed: {MOST_NODES} nodes")
    along, across = (np.asarray(low + one * np.arange(n)) for low, n in ((low_x, columns), (low_y, rows)))
    graph: Any = csr_array(_edges(relief, rover, along, across), shape=(columns * rows, columns * rows))
    first, last = (round((px - low_x) / one) * rows + round((py - low_y) / one) for px, py in (start, goal))
    costs, befores = dijkstra(graph, indices=np.array([first]), return_predecessors=True)
    cost, before = costs[0], befores[0]
    if not math.isfinite(cost[last]):
        raise ValueError("there is no way from start to goal: all are too steep, or tilt the rover too far")
    nodes = [last]
    while nodes[-1] != first:
        nodes.append(int(before[nodes[-1]]))
    places = np.array([(along[node // rows], across[node % rows]) for node in reversed(nodes)])
    return Way(places, way_along(relief, rover, places).length, float(cost[last]))


def _edges(
    relief: HeightMap, rover: Traverse, x: FloatArray, y: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Costs of all edges that can be driven, and their ends as numbers of nodes."""
    columns, rows = x.size, y.size
    at_x, at_y = (axis.ravel() for axis in np.meshgrid(x, y, indexing="ij"))
    number = np.arange(columns * rows).reshape(columns, rows)
    costs, ends = [], []
    for i, j in MOVES:
        port, starboard = standing(relief, at_x, at_y, math.atan2(j, i), rover.wheels)
        source = number[max(-i, 0) : columns - max(i, 0), max(-j, 0) : rows - max(j, 0)].ravel()
        target = number[max(i, 0) : columns + min(i, 0), max(j, 0) : rows + min(j, 0)].ravel()
        cost = _cost(rover, np.array([port[source], starboard[source]]), np.array([port[target], starboard[target]]),
                     (x[1] - x[0]) * math.hypot(i, j))[1]  # fmt: skip
        kept = np.isfinite(cost)
        costs.append(cost[kept])
        ends.append((source[kept], target[kept]))
    return np.concatenate(costs), (np.concatenate([a for a, _ in ends]), np.concatenate([b for _, b in ends]))


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


def way_along(relief: HeightMap, rover: Traverse, places: FloatArray, step: float = 0.05) -> Way:
    """Length and cost of a given way, straight between its places (n, 2) [m], in steps of at most `step` [m]."""
    length = cost = 0.0
    for (x0, y0), (x1, y1) in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
        level = math.hypot(x1 - x0, y1 - y0)
        parts = max(math.ceil(level / step - 1e-9), 1)
        x, y = np.linspace(x0, x1, parts + 1), np.linspace(y0, y1, parts + 1)
        height = standing(relief, x, y, math.atan2(y1 - y0, x1 - x0), rover.wheels)
        lengths, costs = _cost(rover, height[:, :-1], height[:, 1:], level / parts)
        length, cost = length + float(lengths.sum()), cost + float(costs.sum())
    return Way(places, length, cost)
