"""The rover's part of a rig config: its type, its sizes, and what it carries.

The keys of a rover are those of its parameters (`models.rover.parameters.RoverQuantity`), in a section of its name.
Keys directly under `rover` describe the bodies of the RCP, and of `parametric`, which places the same bodies from a
few lengths.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, get_type_hints

from pydantic import Field, ModelWrapValidatorHandler, create_model, field_validator, model_validator

from drivers.extensions import ROVERS as INSTALLED
from drivers.extensions import ExtensionError, installed_names, load_installed
from hil.config.problems import CrossCheckError, Problem
from hil.config.schema.base import Listed, Section, bounded, is_none, key, positive, section
from models.rover.fittings import Ballast, FlexibleLegs, fitted, with_shape
from models.rover.imported import IMPORTED, imported
from models.rover.locks import locked
from models.rover.parameters import STEERING, Parameters, RoverQuantity
from models.rover.parametric import ChassisParameters
from models.rover.registry import VEHICLES
from models.rover.tree import Tree


def lock_problem(type_: str, rover: type[Parameters], locks: tuple[tuple[str, float], ...]) -> Problem | None:
    """What is wrong with the locks of a config, angles [rad] by name or kind of a joint; None: nothing."""
    known = rover.lockable()
    kinds = {name.rsplit("_", 1)[-1] for name in known}
    unknown = [name for name, _ in locks if name not in known and name not in kinds]
    if unknown:
        allowed = f"joints of rover.type {type_} that are not of wheels or coupled: {', '.join(known) or 'none'}"
        return Problem("rover.locks", f"of {', '.join(unknown)}", allowed, ("rover.type",))
    try:
        tree = locked(rover, locks)().tree()  # type: ignore[arg-type]  # a class can be hashed
    except ValueError as error:
        found, _, allowed = str(error).rpartition("allowed: ")
        return Problem("rover.locks", found.rstrip(", "), allowed, ("rover.type",))
    wheels = {wheel.body for wheel in tree.wheels}
    still = [joint.name for joint in tree.joints if joint.child in wheels and joint.locked_at is not None]
    if still:
        allowed = f"names of joints: a kind that wheels have too would lock these; {', '.join(known)}"
        return Problem("rover.locks", f"of the wheels' {', '.join(still)}", allowed, ("rover.type",))
    return None


class ImportedSection(Section):
    """A rover of a file, as `hil rover import` writes it."""

    urdf: str | None = key(
        None, "path of a URDF, relative to this file; an effective config has its text; null: another type"
    )
    wheels: Listed[str] | None = key(
        None, "its wheels: links or joints; null: those that are recognised", min_length=2, max_length=10
    )


# A rover; the section has a key `type`, which hides Python's.
Kind = type[Parameters]


def rover_names() -> tuple[str, ...]:
    """All that can stand under `rover.type`; does not import the installed packages."""
    return (*VEHICLES, IMPORTED, *installed_names(INSTALLED))


@functools.cache
def rover_named(name: str) -> type[Parameters] | None:
    """The rover of that name, of ours or of an installed package; None: there is none.

    Raises ExtensionError: an installed package declares it, but cannot be imported or has no such rover.

    Example:
        >>> rover_named("juno").__name__, rover_named("unknown")
        ('JunoParameters', None)
    """
    if name in VEHICLES:
        return VEHICLES[name]
    for kind, package in load_installed(INSTALLED, name):
        if name in RoverConfig.model_fields:
            raise ExtensionError(f"{package} has the name of a key of the section rover: give it another")
        if not (isinstance(kind, type) and issubclass(kind, Parameters) and kind.rover == name):
            needed = f"a class derived from models.rover.Parameters with rover = {name!r}"
            raise ExtensionError(f"{package} provides {kind!r}; needed: {needed}")
        try:
            kind.quantities(), kind.wheels()
        except Exception as error:  # whatever a foreign class raises
            raise ExtensionError(f"{package} is not a rover: {type(error).__name__}: {error}") from error
        return kind
    return None


def broken_rovers() -> Iterator[str]:
    """A message for each installed package that does not provide the rover it declares; imports all of them."""
    for name in installed_names(INSTALLED):
        try:
            rover_named(name)
        except ExtensionError as error:
            yield str(error)


def section_quantities(kind: type[Parameters]) -> dict[str, RoverQuantity]:
    """Parameters whose keys are in the section of the rover's name: all but those directly under `rover`."""
    shared = ChassisParameters.quantities() if issubclass(kind, ChassisParameters) else {}
    return {name: one for name, one in kind.quantities().items() if name not in shared}


def key_path(kind: type[Parameters], parameter: str) -> str:
    """Path of the key of a rover's parameter.

    Example:
        >>> key_path(VEHICLES["parametric"], "track"), key_path(VEHICLES["parametric"], "bogie_stop")
        ('rover.parametric.track_m', 'rover.bogie_stop_deg')
    """
    key = kind.quantities()[parameter].key(parameter)
    return f"rover.{kind.rover}.{key}" if parameter in section_quantities(kind) else f"rover.{key}"


def section_class(kind: type[Parameters]) -> type[Section]:
    """The section of a rover, made from its parameters."""
    words = " ".join((inspect.getdoc(kind) or kind.rover).split("\n\n")[0].split())
    keys = _keys(kind, section_quantities(kind))
    return create_model(f"{kind.__name__}Section", __base__=Section, __doc__=words, **keys)


def rover_section(name: str) -> type[Section] | None:
    """The section of a rover; None: there is no such rover, or its package is broken."""
    with suppress(ExtensionError):
        if (kind := rover_named(name)) is not None:
            return section_class(kind)
    return None


def _keys(kind: type[Parameters], quantities: Mapping[str, RoverQuantity]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {
        one.key(name): (
            hints[name],
            Field(
                one.default,
                ge=one.least,
                le=one.most,
                description=one.words,
                exclude_if=functools.partial(operator.eq, one.default) if one.later else None,
            ),
        )
        for name, one in quantities.items()
    }


def _sections(kinds: Iterator[type[Parameters]]) -> dict[str, Any]:
    sections = {kind.rover: section_class(kind) for kind in kinds if section_quantities(kind)}
    return {name: (one, Field(default_factory=one, description=f"type {name}")) for name, one in sections.items()}


# Largest angle of a lock, either way.
_MOST_DEG = 180.0


class _PayloadLoad(Section):
    """The payload of the rover: a uniform cube fixed to its main body."""

    mass_kg: float = bounded(0.0, 0, 1000, "0: none")
    x_m: float = bounded(0.0, -5, 5, "its centre, ahead of the base frame's origin")
    y_m: float = bounded(0.0, -5, 5, "its centre, to port of that origin")
    z_m: float = bounded(0.0, -5, 5, "its centre, over the ground that the rover stands on")
    edge_m: float = bounded(0.2, 0.01, 5, "of the cube, for its inertia")


class _BallastLoad(Section):
    """A uniform cube that slides ahead and back on the main body: the joint `ballast`, moved by servos.slides."""

    mass_kg: float = positive(20.0, 1000, "of the cube")
    x_m: float = bounded(0.0, -5, 5, "its centre at displacement 0, ahead of the base frame's origin")
    z_m: float = bounded(1.0, -5, 5, "its centre, over the ground that the rover stands on")
    stroke_m: float = positive(0.3, 5, "from displacement 0 to its stop, ahead and back")
    edge_m: float = bounded(0.2, 0.01, 5, "of the cube, for its inertia")

    @property
    def fitting(self) -> Ballast:
        """As models have it."""
        return Ballast(self.mass_kg, (self.x_m, 0.0, self.z_m), self.stroke_m, self.edge_m)


class _FlexibleLegsConfig(Section):
    """Legs that give under their wheels: each end slides on springs, one coordinate for each direction that has one."""

    ahead_Npm: float | None = positive(None, 1e8, "stiffness of a leg's end ahead; null: it does not give there")
    across_Npm: float | None = positive(None, 1e8, "the same to the side")
    up_Npm: float | None = positive(5e4, 1e8, "the same upwards; 5e4: 4 mm under 200 N (MacMahon 2016, Fig. 6-4)")
    damping_Nspm: float = bounded(100.0, 0, 1e6, "of each of these springs")

    @property
    def fitting(self) -> FlexibleLegs:
        """As models have it."""
        ahead, across, up = (math.inf if one is None else one for one in (self.ahead_Npm, self.across_Npm, self.up_Npm))
        return FlexibleLegs((ahead, across, up), self.damping_Nspm)


class _DrawbarLoad(Section):
    """A constant pull backwards at a point of the main body; the rover settles under it with its axles held."""

    pull_N: float = bounded(0.0, -1e4, 1e4, "along the body, positive backwards; 0: none")
    x_m: float = bounded(0.0, -5, 5, "where it acts, ahead of the base frame's origin")
    y_m: float = bounded(0.0, -5, 5, "where it acts, to port of that origin")
    z_m: float = bounded(0.0, -5, 5, "where it acts, over the ground that the rover stands on")


class _Type(Section):
    type: str = key("rcp", "type of the rover", json_schema_extra={"enum": [*VEHICLES, IMPORTED]})

    @field_validator("type")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in VEHICLES and name not in rover_names():
            raise ValueError(" or ".join(rover_names()))
        return name


_Keys: Any = create_model(
    "_Keys",
    __base__=_Type,
    **_keys(ChassisParameters, ChassisParameters.quantities()),
    **_sections(iter(VEHICLES.values())),
)


def tree_on_rig(rover: Parameters) -> Tree:
    """The tree of a rover with those joints locked that do not turn on a rig."""
    return rover.tree().with_locks(dict.fromkeys(rover.rig_locks(), 0.0))


class RoverConfig(_Keys, _Type):  # its keys are made from the registry, so mypy knows them as Any
    """The rover: values that no source publishes. The RCP's positions come from MacMahon 2016, Table 4-1."""

    payload: _PayloadLoad = section(_PayloadLoad, "the payload")
    drawbar: _DrawbarLoad = section(_DrawbarLoad, "a pull on the main body")
    ballast: _BallastLoad | None = key(None, "a weight that a servo moves; null: none", exclude_if=is_none)
    flexible_legs: _FlexibleLegsConfig | None = key(None, "the legs give; null: they are rigid", exclude_if=is_none)
    locks: dict[str, Annotated[float, Field(ge=-5000, le=5000)]] = Field(
        default_factory=dict,
        max_length=100,
        description="angle [deg], or displacement [mm] of one that slides, at which a joint is locked, by its name or "
        "kind (steering, walking); {}: none more",
        json_schema_extra={"note": "-180 to 180 by the joint's name or kind; -5000 to 5000 of one that slides"},
    )
    imported: ImportedSection = section(ImportedSection, f"type {IMPORTED}")

    @model_validator(mode="wrap")
    @classmethod
    def _with_installed(cls, values: Any, check: ModelWrapValidatorHandler[RoverConfig]) -> RoverConfig:
        """Check the values with the sections of the installed rovers that they name."""
        if isinstance(values, RoverConfig):
            return values if type(values) is not RoverConfig else check(values)
        if isinstance(values, dict) and cls is RoverConfig:
            named = {*map(str, values), str(values.get("type", "rcp"))} - cls.model_fields.keys() - VEHICLES.keys()
            if named and (names := named.intersection(installed_names(INSTALLED))):
                return _class_with(tuple(sorted(names))).model_validate(values)
        return check(values)

    @model_validator(mode="after")
    def _has_a_tree(self) -> RoverConfig:
        """A rover of a file is one, and locks are of joints that can be locked."""
        for path, make in (
            ("rover.imported.urdf", self._bare),
            ("rover.ballast", lambda: self._whole("ballast").lockable()),
            ("rover.flexible_legs", lambda: self._whole().lockable()),
        ):
            try:
                make()
            except ValueError as error:
                found, _, allowed = str(error).rpartition("allowed: ")
                wrong = Problem(path, found.rstrip(", ") or "no rover", allowed, ("rover.type",))
                raise CrossCheckError([wrong]) from None
        if far := [
            Problem(f"rover.locks.{name}", f"{value:g}", "-180 to 180")
            for name, value in self.locks.items()
            if abs(value) > _MOST_DEG and not self._slides(name)
        ]:
            raise CrossCheckError(far)
        if self.locks and (problem := lock_problem(self.type, self._whole(), self._locks())):
            raise CrossCheckError([problem])
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """As values: the classes of its sections are made at import, and no module has them by name."""
        return RoverConfig.model_validate, (self.model_dump(exclude_unset=True),)

    @property
    def kind(self) -> Kind:
        """The rover of this type, with its locks."""
        return self.kind_with(())

    def kind_with(self, driven: tuple[str, ...]) -> Kind:
        """The same, in which joints of these names turn, because servos drive them."""
        whole, locks = self._whole(), (*self._locks(), *((name, None) for name in driven))
        return locked(whole, locks) if locks else whole  # type: ignore[arg-type]  # a class can be hashed

    def _locks(self) -> tuple[tuple[str, float], ...]:
        """By name or kind of a joint, in rad, or in m of one that slides."""
        each = self.locks.items()
        return tuple(sorted((name, 1e-3 * at if self._slides(name) else math.radians(at)) for name, at in each))

    def _slides(self, name: str) -> bool:
        """Whether a name or kind is of joints that slide."""
        return any(name in (one, one.rsplit("_", 1)[-1]) for one in self._whole().sliding())

    def _whole(self, *keys: str) -> Kind:
        """The rover of this type with what these keys fit to it, by default all, without its locks.

        Raises ValueError: as `_bare`, or it cannot have what is fitted to it.
        """
        given = (getattr(self, name) for name in keys or ("ballast", "flexible_legs"))
        fittings = tuple(one.fitting for one in given if one is not None)
        bare = self._bare()
        return fitted(bare, fittings) if fittings else bare  # type: ignore[arg-type]  # a class can be hashed

    def _bare(self) -> Kind:
        """The rover of this type, with the parts that its numbers give it. Raises ValueError: its file is of none."""
        if self.type == IMPORTED:
            if self.imported.urdf is None:
                raise ValueError("null, allowed: the path of a URDF, as `hil rover import FILE` writes it")
            return imported(self.imported.urdf, self.imported.wheels)
        kind = rover_named(self.type)
        assert kind is not None  # else the check would have failed
        numbers = {name: self._number(kind, name) for name in kind.shaping}
        shape = tuple((name, value) for name, value in numbers.items() if value != getattr(kind, name))
        return with_shape(kind, shape) if shape else kind  # type: ignore[arg-type]  # a class can be hashed

    @property
    def path(self) -> str:
        """Path of the section of this type: `rover` for the RCP, which has no other."""
        return f"rover.{self.type}" if section_quantities(self.kind) else "rover"

    def key_of(self, parameter: str) -> str:
        """Path of the key of a parameter of this rover; if it has no such parameter, of the section of its type."""
        return key_path(self.kind, parameter) if parameter in self.kind.quantities() else self.path

    @property
    def steers(self) -> bool:
        """Whether its wheels have steering joints, which a rig locks."""
        return STEERING in self.kind.rig_locks()

    @property
    def wheel_radius_m(self) -> float:
        """Radius of the first wheel's rim by this section alone."""
        return self.wheel_radii_m[0]

    @property
    def wheel_radii_m(self) -> tuple[float, ...]:
        """Radius of each wheel's rim by this section alone; `wheel.of` may say otherwise."""
        usual = self.kind.default_wheel_radii()
        all_m: float | None = getattr(getattr(self, self.type, None), "wheel_radius_m", None)
        return usual if all_m is None else (all_m,) * len(usual)

    def parameters(self, driven: tuple[str, ...] = ()) -> Parameters:
        """The same numbers as parameters of `models.rover` [kg, m, rad].

        Raises ValueError: the sizes are not consistent.
        """
        kind = self.kind_with(driven)
        if self.type == IMPORTED:
            return kind()
        return kind(**{name: self._number(kind, name) for name in kind.quantities()})

    def _number(self, kind: Kind, name: str) -> Any:
        """A parameter of the rover of this type [kg, m, rad]."""
        one, below = kind.quantities()[name], section_quantities(kind)
        return one.in_si(getattr(getattr(self, self.type) if name in below else self, one.key(name)))


@functools.cache
def _class_with(names: tuple[str, ...]) -> type[RoverConfig]:
    """The section `rover` with the sections of these installed rovers."""
    kinds = []
    for name in names:
        try:
            kind = rover_named(name)
        except ExtensionError as error:
            raise CrossCheckError([Problem("rover.type", repr(name), str(error))]) from error
        assert kind is not None  # it is installed
        kinds.append(kind)
    return create_model("RoverConfig", __base__=RoverConfig, __doc__=RoverConfig.__doc__, **_sections(iter(kinds)))
