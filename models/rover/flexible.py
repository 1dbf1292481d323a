"""Flexible links of a tree, by assumed modes.

A slender boom bends as u(x, t) = sum of phi_k(x/L) b_k(t) (Cyril 1993 (7); Euler and Bernoulli, no shortening). Its
mass stands at the nodes of a Lobatto quadrature, so mass, first and second moments are exact, and the modal masses
nearly. The node at the end slides across the boom by b_1, b_2 and so on, and turns by the slope there; these joints
have springs, EI/L^3 times the integral of phi_k''^2. Every other node slides by phi_k of its place times b_k, which is
a coupling with constant ratios (models.rover.reduction). So the dynamics, and all that is built on it, needs nothing
new.

Bending modes of a beam that is clamped at one end and carries a rigid body at the other (Euler and Bernoulli).

With xi = x/L, a free vibration of frequency omega = beta^2 sqrt(EI/(rho A L^4)) has the shape

    phi = cosh(beta xi) - cos(beta xi) - s (sinh(beta xi) - sin(beta xi)),

and at the free end, where a body of mass mu rho A L and of inertia j rho A L^3 about that end sits,

    phi'' = beta^4 j phi',    phi''' = -beta^4 mu phi.

Shapes here are 1 at the free end, so their coordinate is its deflection [m].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial.legendre import Legendre, leggauss
from scipy.optimize import brentq

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray
from models.rover.assembly import LATERAL, TreeBuilder
from models.rover.ties import Coupling, Vector
from models.rover.tree import Body, Joint, Tree

_AT_LEAST_ZERO = Range(0.0, 1e5, "")
_STEP, _FARTHEST = 0.02, 40.0
MOST_MODES = 8


@dataclass(frozen=True)
class _BendingMode:
    """One shape.

    Attributes:
        beta: wave number [-].
        share: s of the module.
        mass_ratio: mu, of the end body for which it is a free vibration.
        inertia_ratio: j, likewise.
    """

    beta: float
    share: float
    mass_ratio: float
    inertia_ratio: float

    def value(self, xi: float | FloatArray) -> FloatArray:
        """Phi at xi from 0 to 1."""
        return _shape(self, np.asarray(xi), 0) / _shape(self, np.asarray(1.0), 0)

    def slope(self, xi: float | FloatArray) -> FloatArray:
        """Phi' by xi."""
        return self.beta * _shape(self, np.asarray(xi), 1) / _shape(self, np.asarray(1.0), 0)

    def curvature(self, xi: float | FloatArray) -> FloatArray:
        """Phi'' by xi."""
        return self.beta**2 * _shape(self, np.asarray(xi), 2) / _shape(self, np.asarray(1.0), 0)

    @property
    def stiffness(self) -> float:
        """Integral of phi''^2: the coordinate's stiffness is EI/L^3 times this."""
        nodes, weights = leggauss(24)
        return float(0.5 * weights @ self.curvature(0.5 + 0.5 * nodes) ** 2)

    @property
    def frequency(self) -> float:
        """beta^2: omega is sqrt(EI/(rho A L^4)) times this."""
        return self.beta**2


def bending_modes(count: int, mass_ratio: float = 0.0, inertia_ratio: float = 0.0) -> tuple[_BendingMode, ...]:
    """The first modes.

    Args:
        count: how many, 1 to 8.
        mass_ratio: mu [-] of the body at the free end, 0 or more.
        inertia_ratio: j [-] of that body about the free end, 0 or more.

    Raises:
        ValueError: a number out of range.

    Example:
        A clamped beam with nothing at its end, and one with its own mass there:

        >>> [round(mode.beta, 4) for mode in bending_modes(3)]
        [1.8751, 4.6941, 7.8548]
        >>> round(bending_modes(1, mass_ratio=1.0)[0].beta, 4)
        1.2479
    """
    refuse(
        "bending modes",
        [
            None if count in range(1, MOST_MODES + 1) else f"count is {count}, allowed: 1 to {MOST_MODES}",
            problem("mass_ratio", mass_ratio, _AT_LEAST_ZERO),
            problem("inertia_ratio", inertia_ratio, _AT_LEAST_ZERO),
        ],
    )

    def excess(beta: float) -> float:
        (a, b), (c, d) = _end(beta, mass_ratio, inertia_ratio)
        return (a * d - b * c) * math.exp(-2.0 * beta) / (1.0 + beta**3 * inertia_ratio) / (1.0 + beta * mass_ratio)

    found: list[_BendingMode] = []
    low, before = _STEP, excess(_STEP)
    while len(found) < count and low < _FARTHEST:
        high = low + _STEP
        after = excess(high)
        if before * after < 0.0:
            beta = float(brentq(excess, low, high, xtol=1e-14))
            (a, b), _ = _end(beta, mass_ratio, inertia_ratio)
            found.append(_BendingMode(beta, a / b, mass_ratio, inertia_ratio))
        low, before = high, after
    if len(found) < count:
        raise ValueError(f"bending modes: count is {count}, found: {len(found)} below beta {_FARTHEST:g}")
    return tuple(found)


def _end(beta: float, mu: float, j: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """(a, b) of a - s b = 0 for the moment and for the force at the free end."""
    cosh, cos, sinh, sin = math.cosh(beta), math.cos(beta), math.sinh(beta), math.sin(beta)
    inertia, mass = beta**3 * j, beta * mu
    return (
        (cosh + cos - inertia * (sinh + sin), sinh + sin - inertia * (cosh - cos)),
        (sinh - sin + mass * (cosh - cos), cosh + cos + mass * (sinh - sin)),
    )


def _shape(mode: _BendingMode, xi: FloatArray, order: int) -> FloatArray:
    """Derivative of that order by beta xi, before it is made 1 at the end."""
    z = mode.beta * xi
    even, odd = (np.cosh, np.sinh) if order % 2 == 0 else (np.sinh, np.cosh)
    waves = ((-np.cos(z), np.sin(z)), (np.sin(z), np.cos(z)), (np.cos(z), -np.sin(z)))[order]
    out: FloatArray = even(z) + waves[0] - mode.share * (odd(z) - waves[1])
    return out


_POSITIVE = Range(0.0, math.inf, "SI", open_low=True)
_NOT_NEGATIVE = Range(0.0, math.inf, "SI")
# Share of the end node's mass that a joint between two others carries: no body is without mass.
_LIGHT = 1e-5
# Share of a leg's mass that moves with its free end: of a cantilever bent by a force there, the integral of phi^2.
END_SHARE = 33.0 / 140.0


@dataclass(frozen=True)
class Boom:
    """A uniform thin tube that bends in one plane.

    Attributes:
        length: L [m].
        mass: rho A L [kg].
        bending_stiffness: EI [N m^2].
        radius: of the tube [m]; it counts for the inertia about the boom's own axis only.
        modes: how many shapes.
        end_mass: mass [kg] of the body at the free end for which the shapes are free vibrations: of what the boom
            carries, or 0.
        end_inertia: its inertia [kg m^2] about the free end.
        damping_ratio: of each mode, with that body at the end.

    Raises:
        ValueError: a number out of range.
    """

    length: float
    mass: float
    bending_stiffness: float
    radius: float
    modes: int = 1
    end_mass: float = 0.0
    end_inertia: float = 0.0
    damping_ratio: float = 0.0

    def __post_init__(self) -> None:
        refuse(
            "Boom",
            [
                *(problem(key, getattr(self, key), _POSITIVE) for key in ("length", "mass", "bending_stiffness")),
                problem("radius", self.radius, _POSITIVE),
                *(problem(key, getattr(self, key), _NOT_NEGATIVE) for key in ("end_mass", "end_inertia")),
                problem("damping_ratio", self.damping_ratio, _NOT_NEGATIVE),
            ],
        )
        self.shapes()

    def shapes(self) -> tuple[_BendingMode, ...]:
        """Of its modes. Raises ValueError: too many modes, or an end body too heavy for the boom."""
        return bending_modes(self.modes, self.end_mass / self.mass, self.end_inertia / (self.mass * self.length**2))

    def spring(self, mode: _BendingMode) -> tuple[float, float]:
        """Stiffness [N/m] and damping [N s/m] of a shape's coordinate."""
        stiffness = self.bending_stiffness / self.length**3 * mode.stiffness
        omega = mode.frequency * math.sqrt(self.bending_stiffness / (self.mass * self.length**3))
        return stiffness, 2.0 * self.damping_ratio * stiffness / omega


def add_boom(
    builder: TreeBuilder, name: str, root: str, place: Vector, along: Vector, across: Vector, boom: Boom
) -> str:
    """Fix a boom to a body; what it carries is attached to its end, the body NAME_end.

    Its coordinates are the joints NAME_1_bend, NAME_2_bend and so on: deflection of the end [m] in each shape.

    Args:
        builder: of the tree.
        name: of the boom.
        root: body that it is clamped to.
        place: of the clamped end [m], all joints at zero.
        along: direction of the boom, one of the axes.
        across: direction in which it bends, another axis.
        boom: its numbers.

    Returns:
        The name of the body at its free end.

    Raises:
        ValueError: directions that are not two different axes.
    """
    on_axes = all(sorted(map(abs, one)) == [0.0, 0.0, 1.0] for one in (along, across))
    if not on_axes or np.dot(along, across) != 0.0:
        raise ValueError(f"boom {name}: along is {along}, across {across}, allowed: two different axes")
    count = 4 + 2 * boom.modes
    turn: Vector = tuple(np.cross(along, across).tolist())
    nodes, weights = lobatto(count)
    shapes = boom.shapes()
    bends = [f"{name}_{k}_bend" for k in range(1, len(shapes) + 1)]

    def node(parent: str, joint: str, axis: Vector, body: str, mass: float, xi: float, **how: object) -> None:
        moments = [mass * boom.radius**2 * (1.0 if abs(one) == 1.0 else 0.5) for one in along]
        at: Vector = tuple((np.array(place) + xi * boom.length * np.array(along)).tolist())
        builder.add_body(parent, joint, axis, body, mass, tuple(moments), at, **how)  # type: ignore[arg-type]

    node(root, f"{name}_clamp", LATERAL, f"{name}_root", boom.mass * weights[0], 0.0, locked_at=0.0)
    for k in range(1, count - 1):
        body = f"{name}_node{k}"
        node(root, f"{name}_{k}_shape", across, body, boom.mass * weights[k], nodes[k], slides=True)
        ratios = [float(shape.value(nodes[k])) for shape in shapes]
        builder.couple(Coupling(f"{name}_{k}_shape", tuple(zip(bends, ratios, strict=True))))
    # only the last of these moves with the whole deflection; half of the node's mass turns too
    carrier, last = root, boom.mass * weights[-1]
    for k, (bend, shape) in enumerate(zip(bends, shapes, strict=True), 1):
        node(
            carrier,
            bend,
            across,
            f"{name}_end{k}",
            (0.5 if k == len(shapes) else _LIGHT) * last,
            1.0,
            slides=True,
            spring=boom.spring(shape),
        )
        carrier = f"{name}_end{k}"
    node(carrier, f"{name}_slope", turn, f"{name}_end", 0.5 * last, 1.0)
    slopes = [float(shape.slope(1.0)) / boom.length for shape in shapes]
    builder.couple(Coupling(f"{name}_slope", tuple(zip(bends, slopes, strict=True))))
    return f"{name}_end"


def with_flexible_legs(tree: Tree, *springs: tuple[Vector, float, float], end_share: float = END_SHARE) -> Tree:
    """The same rover, whose wheels sit on the flexible ends of the bodies that carry them.

    The deflection of each leg's end is one more coordinate in each direction: joints WHEEL_1_flex, WHEEL_2_flex and so
    on, which slide. A share of the leg, with as much of its inertia, moves with its end, so that the undeflected leg is
    as before.

    Args:
        tree: each of its wheels is carried by its own leg.
        springs: (direction, in the leg's frame; stiffness [N/m]; damping [N s/m]) of each.
        end_share: of the leg's mass that moves with its end.

    Raises:
        ValueError: a number out of range, no spring, or a wheel whose leg carries another wheel.

    Example:
        MacMahon 2016, Fig. 6-4: 200 N move the end of a leg of the RCP by about 4 mm.

        >>> from models.rover import Rover, rcp
        >>> Rover(with_flexible_legs(rcp().tree, ((0.0, 0.0, 1.0), 200.0 / 0.004, 0.0))).nv
        21
    """
    drives = {joint.child: joint for joint in tree.joints}
    legs = [drives[wheel.body].parent for wheel in tree.wheels]
    refuse(
        "flexible legs",
        [
            None if springs else "springs is empty, allowed: one or more",
            None
            if len({*legs}) == len(legs)
            else f"legs are {', '.join(legs)}, allowed: a separate one for each wheel",
            problem("end_share", end_share, Range(0.0, 1.0, "", open_low=True, open_high=True)),
            *(problem("stiffness", stiffness, _POSITIVE) for _, stiffness, _ in springs),
            *(problem("damping", damping, _NOT_NEGATIVE) for *_, damping in springs),
        ],
    )
    bodies, joints = {body.name: body for body in tree.bodies}, {joint.name: joint for joint in tree.joints}
    for wheel in tree.wheels:
        drive = drives[wheel.body]
        leg = bodies[drive.parent]
        bodies[leg.name] = _part(leg, leg.name, 1.0 - end_share, (0.0, 0.0, 0.0))
        carrier, origin = leg.name, drive.origin
        for k, (direction, stiffness, damping) in enumerate(springs, 1):
            end = f"{wheel.name}_end{k}"
            bodies[end] = _part(leg, end, end_share / len(springs), drive.origin)
            joints[f"{wheel.name}_{k}_flex"] = Joint(
                f"{wheel.name}_{k}_flex", carrier, end, origin, direction, slides=True, stiffness=stiffness,
                damping=damping,
            )  # fmt: skip
            carrier, origin = end, (0.0, 0.0, 0.0)
        joints[drive.name] = replace(drive, parent=carrier, origin=origin)
    return replace(tree, bodies=tuple(bodies.values()), joints=tuple(joints.values()))


def _part(body: Body, name: str, share: float, origin: Vector) -> Body:
    """A share of a body, with the same centre of mass and as much of its inertia; its frame at `origin` [m]."""
    com: Vector = tuple((np.array(body.com) - origin).tolist())
    inertia: Vector = tuple((share * np.array(body.inertia)).tolist())
    products: Vector = tuple((share * np.array(body.products)).tolist())
    return replace(body, name=name, mass=share * body.mass, com=com, inertia=inertia, products=products)


def lobatto(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes from 0 to 1, both ends included, and weights (count,) whose sum is 1; exact to degree 2 count - 3."""
    last = Legendre.basis(count - 1)
    inner = np.sort(last.deriv().roots().real)
    nodes = np.concatenate([[-1.0], inner, [1.0]])
    weights = 2.0 / (count * (count - 1) * last(nodes) ** 2)
    return 0.5 + 0.5 * nodes, 0.5 * weights
