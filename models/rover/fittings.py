"""What is fitted to a rover of any kind, such as a ballast that slides, and rovers that have some parts or none."""

from __future__ import annotations

import functools
import math
from dataclasses import field, fields, make_dataclass, replace
from typing import Any, NamedTuple, Protocol

from models.rover.assembly import LATERAL, LENGTHWISE, VERTICAL, box
from models.rover.parameters import Parameters
from models.rover.ties import Vector
from models.rover.tree import Body, Joint, Tree

BALLAST = "ballast"


class _Fitting(Protocol):
    """A change of a rover's tree; equal ones are equal and can be hashed."""

    def on(self, tree: Tree) -> Tree:
        """The same rover with this change."""


class Ballast(NamedTuple):
    """A weight that slides ahead and back on a rover's main body; locked in the middle unless a servo drives it.

    Attributes:
        mass: of the uniform cube [kg].
        place: of its centre [m] in the base frame, at displacement 0.
        stroke: from there to its stop, ahead and back [m].
        edge: of the cube, for its inertia [m].

    Example:
        MacMahon 2016, 6.2.4 adds 22.7 kg. The same on a rail, 0.3 m ahead:

        >>> from models.rover import RcpParameters
        >>> tree = Ballast(22.7, (0.0, 0.0, 0.9), 0.35, 0.2).on(RcpParameters().tree())
        >>> tree.joints[-1].name, tree.with_locks({"ballast": 0.3}).joints[-1].locked_at
        ('ballast', 0.3)
    """

    mass: float
    place: Vector
    stroke: float
    edge: float

    def on(self, tree: Tree) -> Tree:
        """The rover with this ballast. Raises ValueError: a number out of range, or it has a ballast already."""
        body = Body(BALLAST, self.mass, (0.0, 0.0, 0.0), box(self.mass, (self.edge,) * 3))
        joint = Joint(
            BALLAST, tree.bodies[0].name, BALLAST, self.place, LENGTHWISE, 0.0, (-self.stroke, self.stroke), slides=True
        )
        return replace(tree, bodies=(*tree.bodies, body), joints=(*tree.joints, joint))


class FlexibleLegs(NamedTuple):
    """Legs whose ends give under their wheels, as MacMahon 2016, Fig. 6-4 measures: `with_flexible_legs` has the model.

    Attributes:
        stiffness: of the end of each leg, ahead, to port and up, in the leg's frame [N/m]; infinite: it does not give.
        damping: in each direction in which it gives [N s/m].
    """

    stiffness: Vector
    damping: float

    def on(self, tree: Tree) -> Tree:
        """The rover on such legs. Raises ValueError: it gives nowhere, or two wheels are on one leg."""
        from models.rover.flexible import with_flexible_legs  # imports scipy, which most rovers do without

        axes = (LENGTHWISE, LATERAL, VERTICAL)
        springs = [(axis, k, self.damping) for axis, k in zip(axes, self.stiffness, strict=True) if k < math.inf]
        return with_flexible_legs(tree, *springs)


@functools.lru_cache(maxsize=64)
def fitted(kind: type[Parameters], fittings: tuple[_Fitting, ...]) -> type[Parameters]:
    """The same rover with these fittings, one after the other; its parameters are the same.

    Example:
        >>> from models.rover import JunoParameters
        >>> "ballast" in fitted(JunoParameters, (Ballast(20.0, (0.0, 0.0, 0.6), 0.3, 0.2),)).lockable()
        True
    """

    def tree(self: Parameters) -> Tree:
        return functools.reduce(lambda whole, one: one.on(whole), fittings, kind.tree(self))

    def reduce(self: Parameters) -> tuple[Any, ...]:
        return _made_again, (kind, fittings, {name: getattr(self, name) for name in kind.quantities()})

    members = {"tree": tree, "__reduce__": reduce, "__doc__": kind.__doc__, "__module__": kind.__module__}
    return type(kind.__name__, (kind,), members)


@functools.lru_cache(maxsize=64)
def with_shape(kind: type[Parameters], shape: tuple[tuple[str, Any], ...]) -> type[Parameters]:
    """The same rover with other defaults of its shaping numbers, so that its joints are known without the others.

    Args:
        kind: of the rover.
        shape: names of fields of `Parameters.shaping`, and their values.

    Example:
        >>> from models.rover import XuParameters
        >>> len(with_shape(XuParameters, (("mast_mass", 4.0),)).lockable()) - len(XuParameters.lockable())
        3
    """
    known = {item.name: item for item in fields(kind)}
    changed = [(name, known[name].type, field(default=value, metadata=known[name].metadata)) for name, value in shape]

    def reduce(self: Parameters) -> tuple[Any, ...]:
        return _shaped_again, (kind, shape, {name: getattr(self, name) for name in known})

    members = {"__reduce__": reduce, "__doc__": kind.__doc__, "__module__": kind.__module__}
    return make_dataclass(kind.__name__, changed, bases=(kind,), namespace=members, frozen=True)


def _shaped_again(kind: type[Parameters], shape: tuple[tuple[str, Any], ...], numbers: dict[str, Any]) -> Parameters:
    return with_shape(kind, shape)(**numbers)  # type: ignore[arg-type]  # a class can be hashed


def _made_again(kind: type[Parameters], fittings: tuple[_Fitting, ...], numbers: dict[str, Any]) -> Parameters:
    return fitted(kind, fittings)(**numbers)  # type: ignore[arg-type]  # a class can be hashed
