"""What a rover is, in one class: name, sizes with the keys that a config has for them, tree, and cylinders."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from models.rover.tree import Tree

if TYPE_CHECKING:
    from models.rover.rover import Rover  # imports kernels, which a config does without

# End of the names of joints that may have a cylinder.
BOGIE = "bogie"
STEERING = "steering"
_QUANTITY = "quantity"


class RoverQuantity(NamedTuple):
    """A parameter as a config has it.

    Attributes:
        default: in the unit.
        unit: of its key: kg, kgm2, m, deg or another of SI as keys have it, or "" for a choice or a pure number.
        least: smallest value allowed, or None.
        most: largest value allowed, or None.
        words: what it is.
        later: the effective config lacks its key while it has its default: configs of before have their fingerprint.
    """

    default: float | bool | None
    unit: str
    least: float | None
    most: float | None
    words: str
    later: bool = False

    def key(self, name: str) -> str:
        """Key of the parameter `name`: with the unit at its end."""
        return f"{name}_{self.unit}" if self.unit else name

    def in_si(self, value: Any) -> Any:
        """A value of that key in the models' units [kg, kg m^2, m, rad]; None stays None."""
        return math.radians(value) if self.unit == "deg" and value is not None else value


def quantity(
    default: float | None,
    unit: str,
    least: float,
    most: float,
    words: str,
    *,
    in_config: float | None = None,
    later: bool = False,
) -> Any:
    """A size, mass or angle of a rover, as the default of a field of its `Parameters`.

    Args:
        default: in `unit`; None: it follows from other sizes.
        unit: as `RoverQuantity.unit`.
        least: smallest value that a config may give, in `unit`.
        most: largest value that a config may give, in `unit`.
        words: what it is, for the reference of config keys.
        in_config: default of a config where that is another.
        later: as `RoverQuantity.later`.
    """
    said = RoverQuantity(default if in_config is None else in_config, unit, least, most, words, later)
    return field(default=said.in_si(default), metadata={_QUANTITY: said})


def choice(default: bool, words: str) -> Any:
    """A choice, true or false, as the default of a field of its `Parameters`."""
    return field(default=default, metadata={_QUANTITY: RoverQuantity(default, "", None, None, words)})


@dataclass(frozen=True)
class Parameters:
    """A rover by its numbers: angles [rad] under a quarter turn, added weights 0 or more, all others above 0.

    Stops of joints [rad] are above 0, up to a quarter turn.

    A field that is a bool is a choice, and either will do; one whose default is None may be left at that. Every field
    is declared by `quantity` or `choice`. Names of wheels and joints depend on the numbers of `shaping` only.

    A simulated rig draws its masses in the order of the fields: in another order, a seed gives another rig.

    Attributes:
        rover: name of the rover, as under `rover.type` of a config.
        cylinder_joints: joints on which a rig has its air cylinders, in the order of their valves; NAME_bogie each.
        shaping: fields that say which joints there are; `with_shape` makes a rover with other defaults of them.

    Example:
        >>> from models.rover import JunoParameters
        >>> JunoParameters.wheels(), JunoParameters.bogies()
        (('front_left', 'front_right', 'rear_left', 'rear_right'), ())
    """

    rover: ClassVar[str] = ""
    cylinder_joints: ClassVar[tuple[str, ...]] = ()
    shaping: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        wrong = [text for item in fields(self) if (text := self._out_of_range(item.name))]
        if not wrong:
            wrong = self.geometry_errors()
        if wrong:
            raise ValueError(f"{self.rover}: " + "; ".join(wrong))

    def _out_of_range(self, name: str) -> str:
        value = getattr(self, name)
        if isinstance(value, bool) or (value is None and getattr(type(self), name) is None):
            return ""
        if name.endswith("_stop") and 0.5 * math.pi < value < math.inf:
            return f"{name} is {value} rad, allowed: up to pi/2"
        if name.endswith("_angle"):
            return "" if abs(value) < 0.5 * math.pi else f"{name} is {value} rad, allowed: within pi/2 of 0"
        if name.startswith("added_") or name.endswith("_modes"):
            return "" if math.isfinite(value) and value >= 0.0 else f"{name} is {value}, allowed: 0 or more"
        return "" if math.isfinite(value) and value > 0.0 else f"{name} is {value}, allowed: above 0"

    def geometry_errors(self) -> list[str]:
        """Errors in the geometry, each with value and range; called only if every number is in range."""
        return []

    def tree(self) -> Tree:
        """Bodies, joints and wheels of these numbers; the two front wheels come first."""
        raise NotImplementedError

    def build(self, *, locks: Mapping[str, float | None] | None = None) -> Rover:
        """The rover of these numbers.

        Args:
            locks: joints locked at other angles [rad], or free for None, by name or kind (`Tree.with_locks`):
                {"walking": None, "steering": None} frees them all; {"front_left_steering": 0.2} turns one.

        Raises:
            ValueError: a lock of an unknown or coupled joint.

        Example:
            >>> from models.rover import RcpParameters
            >>> RcpParameters().build(locks={"walking": None, "steering": None}).nv
            27
        """
        from models.rover.rover import Rover

        return Rover(self.tree().with_locks(locks or {}))

    @classmethod
    def make(cls, *, locks: Mapping[str, float | None] | None = None, **parameters: Any) -> Rover:
        """The rover with its default numbers, but for those given.

        Args:
            locks: see `build`.
            **parameters: any field.

        Raises:
            ValueError: a parameter out of range, an impossible geometry, or a lock of an unknown or coupled joint.
            TypeError: an unknown parameter.
        """
        return cls(**parameters).build(locks=locks)

    @classmethod
    def quantities(cls) -> dict[str, RoverQuantity]:
        """Parameters by name, as a config has them. Raises TypeError: one is not declared by `quantity` or `choice`."""
        silent = [item.name for item in fields(cls) if _QUANTITY not in item.metadata]
        if silent:
            raise TypeError(f"{cls.__name__}: {', '.join(silent)} not declared by quantity or choice")
        return {item.name: item.metadata[_QUANTITY] for item in fields(cls)}

    @classmethod
    def wheels(cls) -> tuple[str, ...]:
        """Names of the wheels, in the order of the model."""
        return tuple(wheel.name for wheel in cls._default_tree().wheels)

    @classmethod
    def bogies(cls) -> tuple[str, ...]:
        """Joints that may have a cylinder: those that turn and are named NAME_bogie."""
        return tuple(
            joint.name
            for joint in cls._default_tree().joints
            if joint.kind == BOGIE and joint.locked_at is None and not joint.slides
        )

    @classmethod
    def turning(cls) -> tuple[str, ...]:
        """Joints that turn or slide on a rig and carry no wheel: suspension, and walking where it is free."""
        tree, locked = cls._default_tree(), cls.rig_locks()
        wheels = {wheel.body for wheel in tree.wheels}
        return tuple(
            joint.name
            for joint in tree.joints
            if joint.locked_at is None and joint.child not in wheels and not {joint.name, joint.kind} & {*locked}
        )

    @classmethod
    def lockable(cls) -> tuple[str, ...]:
        """Joints that can be locked: all but those of wheels, and those that couplings and loops join."""
        tree = cls._default_tree()
        bodies = {wheel.body for wheel in tree.wheels}
        tied = {name for one in tree.couplings for name in (one.joint, *(source for source, _ in one.sources))}
        tied |= {name for closure in tree.closures for name in closure.dependent}
        return tuple(joint.name for joint in tree.joints if joint.child not in bodies and joint.name not in tied)

    @classmethod
    def sliding(cls) -> frozenset[str]:
        """Joints that slide, free or locked: their coordinate is in m."""
        return frozenset(joint.name for joint in cls._default_tree().joints if joint.slides)

    @classmethod
    def rig_locks(cls) -> tuple[str, ...]:
        """Kinds of joints that a rig locks at zero: the steering, if there is any."""
        return (STEERING,) if any(joint.kind == STEERING for joint in cls._default_tree().joints) else ()

    @classmethod
    def guided(cls) -> bool:
        """Whether it is a carriage on rails (`Tree.guided`)."""
        return cls._default_tree().guided

    @classmethod
    def default_wheel_radius(cls) -> float:
        """Radius of the first wheel [m] with the default numbers."""
        return cls.default_wheel_radii()[0]

    @classmethod
    def default_wheel_radii(cls) -> tuple[float, ...]:
        """Radius of each wheel [m] with the default numbers."""
        return tuple(wheel.radius for wheel in cls._default_tree().wheels)

    @classmethod
    @functools.lru_cache(maxsize=64)
    def _default_tree(cls) -> Tree:
        return cls().tree()
