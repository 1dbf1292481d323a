"""Common parts of the rover descriptions: shapes, and a builder of a tree from places."""

from __future__ import annotations

from collections.abc import Sequence

from models.rover.ties import Coupling, LoopClosure, Vector
from models.rover.tree import Body, Joint, Tree, WheelMount

WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
SIDE_BOGIES = ("left_bogie", "right_bogie")
LENGTHWISE: Vector = (1.0, 0.0, 0.0)
LATERAL: Vector = (0.0, 1.0, 0.0)
VERTICAL: Vector = (0.0, 0.0, 1.0)


def geometry_error(name: str, value: float, room: float, why: str) -> list[str]:
    """An error message if `value` [m] of parameter `name` is not above `room` [m]."""
    return [] if value > room else [f"{name} is {value} m, allowed: above {room:.6g} m, or {why}"]


class TreeBuilder:
    """Bodies and joints by their places in the base frame, all joints at zero.

    Args:
        name: of the rover.
        base: its first body.
    """

    def __init__(self, name: str, base: Body) -> None:
        self._name = name
        self._bodies = [base]
        self._joints: list[Joint] = []
        self._mounts: list[WheelMount] = []
        self._closures: list[LoopClosure] = []
        self._couplings: list[Coupling] = []
        self._places: dict[str, Vector] = {base.name: (0.0, 0.0, 0.0)}

    def add_body(
        self,
        parent: str,
        joint: str,
        axis: Vector,
        body: str,
        mass: float,
        inertia: Vector,
        place: Vector,
        com: Vector | None = None,
        locked_at: float | None = None,
        stop: float | None = None,
        size: Vector | None = None,
        slides: bool = False,
        spring: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Attach a body to another by a joint at `place`; its centre of mass `com` [m] is there too by default.

        A joint with a `stop` [rad; m if it `slides`] has one there, to either side of zero; for `size` see `Body`.
        `spring` is stiffness and damping of a passive spring on the joint [N m/rad, N m s/rad; N/m, N s/m].
        """
        self._places[body] = place
        offset = (0.0, 0.0, 0.0) if com is None else _minus(com, place)
        self._bodies.append(Body(body, mass, offset, inertia, size))
        stops = None if stop is None else (-stop, stop)
        origin = _minus(place, self._places[parent])
        self._joints.append(Joint(joint, parent, body, origin, axis, locked_at, stops, slides, *spring))

    def wheel(
        self,
        name: str,
        parent: str,
        mass: float,
        radius: float,
        width: float,
        place: Vector,
        moment: float | None = None,
    ) -> None:
        """Attach a wheel to a body by its drive joint: a uniform cylinder, or one with that moment about each axis."""
        inertia = cylinder(mass, radius, width) if moment is None else (moment, moment, moment)
        self.add_body(parent, f"{name}_drive", LATERAL, f"{name}_wheel", mass, inertia, place)
        self._mounts.append(WheelMount(name, f"{name}_wheel", radius, width))

    def add_rod(
        self, name: str, mass: float, radius: float, parent: str, upper: Vector, other: str, lower: Vector, joint: str
    ) -> None:
        """Tie two bodies by an upright rod with ball ends, which closes a loop.

        Its upper end is carried by `parent`: NAME_swing about x, NAME_sway about y, and NAME_spin about the rod itself,
        which moves nothing else and is locked. Its lower end stays on `other`. It is a uniform cylinder; of its mass
        one hundredth is a ball at the upper end, and another a fork there, which the first two joints turn.

        Args:
            name: of the rod.
            mass: [kg].
            radius: [m].
            parent: body that carries its upper end.
            upper: place of that end [m], all joints at zero.
            other: body that its lower end stays on.
            lower: place of that end [m], straight below.
            joint: of another part of the loop, whose angle follows as those of the rod do.

        Raises:
            ValueError: the lower end is not straight below the upper one.
        """
        length = upper[2] - lower[2]
        if upper[:2] != lower[:2] or not length > 0.0:
            raise ValueError(
                f"rod {name}: from {upper} to {lower} m, allowed: the second place straight below the first"
            )
        end, middle = 0.01 * mass, (upper[0], upper[1], 0.5 * (upper[2] + lower[2]))
        moment = 0.4 * end * radius**2
        ball = (moment, moment, moment)
        across, along, _ = cylinder(mass - 2.0 * end, radius, length)
        self.add_body(parent, f"{name}_swing", LENGTHWISE, f"{name}_ball", end, ball, upper)
        self.add_body(f"{name}_ball", f"{name}_sway", LATERAL, f"{name}_fork", end, ball, upper)
        self.add_body(
            f"{name}_fork", f"{name}_spin", VERTICAL, name, mass - 2.0 * end, (across, across, along), upper, middle,
            locked_at=0.0,
        )  # fmt: skip
        self._closures.append(
            LoopClosure(
                f"{name}_end", other, _minus(lower, self._places[other]), name, _minus(lower, upper),
                (joint, f"{name}_swing", f"{name}_sway"),
            )
        )  # fmt: skip

    def three_bogies(self, mass: float, length: float, side: Vector, rear: Vector, stop: float) -> None:
        """Two side bogies that pitch at `side` (port) and its mirror, and a rear bogie that rolls at `rear`.

        Each is a bar of `length` [m], 60 mm high and thick, with its centre at its pivot; all have the same `stop`.
        """
        base = self._bodies[0].name
        lengthwise, across = box(mass, (length, 0.06, 0.06)), box(mass, (0.06, length, 0.06))
        for name in ("left", "right"):
            bogie, pivot = f"{name}_bogie", on_side(side, name)
            self.add_body(base, bogie, LATERAL, bogie, mass, lengthwise, pivot, stop=stop)
        self.add_body(base, "rear_bogie", LENGTHWISE, "rear_bogie", mass, across, rear, stop=stop)

    def couple(self, coupling: Coupling) -> None:
        """Make a joint follow others."""
        self._couplings.append(coupling)

    def tree(self, couplings: Sequence[Coupling] = ()) -> Tree:
        """The finished description."""
        return Tree(
            self._name, tuple(self._bodies), tuple(self._joints), tuple(self._mounts),
            (*self._couplings, *couplings),
            tuple(self._closures),
        )  # fmt: skip


def on_side(place: Vector, side: str) -> Vector:
    """A place of the port side [m], mirrored if `side` is "right"."""
    return place if side == "left" else (place[0], -place[1], place[2])


def bogie_of(wheel: str) -> str:
    """Which of three bogies carries a wheel."""
    row, side = wheel.split("_")
    return "rear_bogie" if row == "rear" else f"{side}_bogie"


def row_places(wheelbase: float) -> dict[str, float]:
    """Forward places [m] of the rows, the middle one half-way at the origin."""
    return {"front": 0.5 * wheelbase, "middle": 0.0, "rear": -0.5 * wheelbase}


def wheels_meet(wheelbase: float, track: float, radius: float, width: float) -> list[str]:
    """Error messages for wheels that overlap; `track` is between outer faces."""
    return [
        *geometry_error("wheelbase", wheelbase, 4.0 * radius, "wheels of one side meet"),
        *geometry_error("track", track, 2.0 * width, "wheels of both sides meet"),
    ]


def box(mass: float, size: Vector) -> Vector:
    """Principal moments [kg m^2] of a uniform box of sides `size` [m]."""
    x, y, z = (side * side for side in size)
    return (mass * (y + z) / 12.0, mass * (x + z) / 12.0, mass * (x + y) / 12.0)


def cylinder(mass: float, radius: float, width: float) -> Vector:
    """Principal moments [kg m^2] of a uniform cylinder along y."""
    across = mass * (3.0 * radius**2 + width**2) / 12.0
    return (across, 0.5 * mass * radius**2, across)


def cylinder_along_x(mass: float, radius: float, length: float) -> Vector:
    """Principal moments [kg m^2] of a uniform cylinder along x."""
    across, along, _ = cylinder(mass, radius, length)
    return (along, across, across)


def _minus(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])
