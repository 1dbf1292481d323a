"""Loads at rest, soft rims and the scan of a config against its rover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hil.config.model_parameters import mesh_of, nominal_rig, relief_of
from hil.config.problems import Problem
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.loads import limit_errors
from models.plant import RigParameters
from models.plant.put_down import standing_on_mesh
from models.rover.rover import Rover
from models.statics import NoSteadyStateError, RoverStatics, SteadyRover
from models.terrain import HeightMap
from models.terrain.mesh import TriangleMesh
from models.terrain.surface import beyond_edge, uneven_ground
from models.wheel.flexible_ring import NoEquilibriumError


def resting_loads_N(nominal: RigParameters) -> tuple[float, ...]:
    """Wheel loads of the nominal rover at rest, joints free, before anything pulls it.

    Raises:
        ValueError: no ground.
        NoSteadyStateError: it does not stand there with all wheels on the ground.
    """
    rover, vehicle, _ = nominal.held.assemble()
    return tuple(SteadyRover(rover, vehicle, 0.0).at().load.tolist())


def rim_problems(config: UncheckedConfig) -> list[Problem]:
    """A rim that is too soft for ruts, of flexible wheels on soil that remembers them."""
    ground = nominal_rig(config).ground
    try:
        for mount in config.rover_parameters().tree().wheels:
            ground.wheel_of(mount)
    except NoEquilibriumError as error:
        return [Problem("soil.rut", config.soil.rut, f"fresh, or a stiffer rim: {error}", ("wheel.ring",))]
    return []


def limit_problems(config: UncheckedConfig) -> list[Problem]:
    """Limits that exclude the loads at rest; none of a run that moves no loads."""
    nominal = nominal_rig(config)
    try:
        RoverStatics(nominal.held.assemble()[0])
    except ValueError as error:
        kind = config.rover.type
        return [Problem("rover", f"type {kind}: {error}", "a rover whose wheel loads can be controlled")]
    if not config.section.moves_loads:
        return []
    try:
        loads_N = resting_loads_N(nominal)
    except (ValueError, NoSteadyStateError):  # no ground; or arming says why it does not stand
        return []
    return [
        Problem(
            f"normal_force.{'most' if 'most_load_N' in sentence else 'least'}_load_N",
            sentence,
            "limits that include the loads at rest",
        )
        for sentence in limit_errors(config.normal_force.load_limits, loads_N, config.layout.wheels)
    ]


def scan_problems(config: UncheckedConfig) -> list[Problem]:
    """A hollow that is too narrow for the wheels, and a start or a planned path that is not on the scan."""
    try:
        relief, mesh = relief_of(config.ground), mesh_of(config.ground)
    except ValueError as error:
        return [Problem("ground.scan.map", str(error), "as the program writes it, or null: it is read again")]
    if mesh is not None:
        return _mesh_problems(nominal_rig(config).held.make_rover(), mesh, config.section.planned_way_m)
    if relief is None:
        return [Problem("ground.scan.map", "null", "the height map that the program writes when it reads the file")]
    return [*_hollow_problems(config, relief), *_way_problems(config, relief)]


def _mesh_problems(rover: Rover, mesh: TriangleMesh, planned_m: Sequence[float]) -> list[Problem]:
    """The same of a mesh: wheels that start over no triangle, a path beyond its edge."""
    places, radii = rover.wheel_positions(rover.neutral()), rover.chain.wheel_radius.tolist()
    try:
        for (x, y, _), radius in zip(places.tolist(), radii, strict=True):
            standing_on_mesh(mesh, x, y, radius)
    except ValueError as error:
        found, _, allowed = str(error).removeprefix("ground: ").partition(", needed: ")
        return [Problem("ground.scan.start_m", found, f"all wheels over {allowed}, corners counter-clockwise")]
    ahead = float(mesh.place[:, 0].max() - places[:, 0].max())
    behind = float(mesh.place[:, 0].min() - places[:, 0].min())
    if not behind <= 0.0 <= ahead:
        return [Problem("ground.scan.start_m", "a start with a wheel beyond the edge of the mesh", "all wheels on it")]
    return [
        Problem("ground.scan.file", f"a path of {way_m:.2f} m", f"{behind:.2f} to {ahead:.2f} m, to the mesh's edge")
        for way_m in planned_m
        if not behind <= way_m <= ahead
    ][:1]


def narrowest_hollow(relief: HeightMap) -> tuple[float, float, float]:
    """Radius of the narrowest hollow [m], infinity without one, and its place x, y [m]; looked for at every node."""
    z, one = relief.height, relief.spacing
    inner = z[1:-1, 1:-1]
    xx = (z[2:, 1:-1] - 2.0 * inner + z[:-2, 1:-1]) / one**2
    yy = (z[1:-1, 2:] - 2.0 * inner + z[1:-1, :-2]) / one**2
    xy = (z[2:, 2:] - z[2:, :-2] - z[:-2, 2:] + z[:-2, :-2]) / (4.0 * one**2)
    p, q = (z[2:, 1:-1] - z[:-2, 1:-1]) / (2.0 * one), (z[1:-1, 2:] - z[1:-1, :-2]) / (2.0 * one)
    # largest second derivative in any direction; on a slope the normal curvature is smaller
    largest = 0.5 * (xx + yy) + np.hypot(0.5 * (xx - yy), xy)
    curvature = largest / np.sqrt(1.0 + p * p + q * q)
    i, j = np.unravel_index(int(curvature.argmax()), curvature.shape)
    most = float(curvature[i, j])
    radius = 1.0 / most if most > 0.0 else float("inf")
    return radius, relief.x + (int(i) + 1) * one, relief.y + (int(j) + 1) * one


def _hollow_problems(config: UncheckedConfig, relief: HeightMap) -> Iterator[Problem]:
    radius_m, x, y = narrowest_hollow(relief)
    largest_m = max(config.wheel_radii_m)
    if radius_m < largest_m:
        found = f"a hollow of radius {radius_m:.2f} m at x {x:.2f} m, y {y:.2f} m of the run"
        allowed = (
            f"at least the wheels' radius, {largest_m:.3g} m, or a wheel touches in two places: a larger "
            "ground.scan.spacing_m smooths a rough scan"
        )
        yield Problem("ground.scan.file", found, allowed)


def _way_problems(config: UncheckedConfig, relief: HeightMap) -> Iterator[Problem]:
    """The wheels at the start, and at the ends of the way that the experiment plans, straight ahead without slip."""
    rover, terrain = nominal_rig(config).held.make_rover(), uneven_ground(relief)
    places = rover.wheel_positions(rover.neutral())[:, :2]
    for way_m in (0.0, *config.section.planned_way_m):
        outside_m = max(beyond_edge(terrain, x + way_m, y) for x, y in places.tolist())
        if outside_m > 0.0:
            ahead = relief.extent[1] - float(places[:, 0].max())
            found, key = f"a start with a wheel {outside_m:.2f} m beyond the edge of the scan", "ground.scan.start_m"
            allowed = "all wheels on it, a spacing of the nodes inside its edge"
            if way_m != 0.0:
                found, key = f"a path of {way_m:.2f} m, {outside_m:.2f} m beyond the edge", "ground.scan.file"
                allowed = f"at most {ahead:.2f} m ahead: a larger scan, another start, or a shorter {config.experiment}"
            yield Problem(key, found, allowed)
            return
