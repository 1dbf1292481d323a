"""A flexible wheel on soil: its deflected shape, tabled, in the hypervolume model (Petersen 2012, chapter 5)."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from models.checks import Range, finite_array, problem, refuse
from models.kernels.compiled import FloatArray
from models.wheel import flexible_rut, flexible_table, many, packed
from models.wheel.flexible_ring import Ring, balance, balance_at_slip, resultants_of, rims
from models.wheel.many import NormalForce, WheelForces
from models.wheel.soil import SHEAR_LAWS, Soil, tabled_soil_problem

_RADIUS = Range(1e-3, 1e3, "m")
_SHARE = Range(-1.0, 1.0, "")
_SLIP = Range(-math.inf, math.inf, "")
_REAL_SLIP = Range(-1.0, 1.0, "", open_low=True)


class Deflection(NamedTuple):
    """The shape of a flexible wheel under a load, floats or arrays.

    Attributes:
        soil_sinkage: Depth of the rim's deepest point under the undisturbed ground [m]; the rest of the hub's sinkage
            is deflection.
        loaded_radius: Distance from the hub down to the rim below it [m], R_l of Petersen 2012 (5.44).
        coordinates: Offset ahead and up, then a_k and b_k from k = 2 on [m], shape (..., coordinates).
    """

    soil_sinkage: Any
    loaded_radius: Any
    coordinates: FloatArray


@dataclass(frozen=True, slots=True, repr=False)
class FlexibleWheel:
    """A cylindrical wheel whose rim is a flexible ring, on a soil. A very stiff one is the `RigidWheel` "exact".

    Sinkages are the hub's: radius less height of the hub over the undisturbed ground. They may be scalars or arrays.

    Attributes:
        radius: R [m], 1e-3 to 1e3.
        width: b [m], 1e-3 to 1e3.
        soil: The soil; its rebound is at most 2/(exponent + 1).
        ring: The rim and the springs that hold it.
        ruts: Whether the table has the ruts of earlier wheels, too; it then takes seconds to fill.

    Raises:
        ValueError: A parameter is out of range (all wrong ones are named), or the ring is too soft for the soil.

    Example:
        >>> from models.wheel import FlexibleWheel, Ring, Soil
        >>> sand = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
        >>> wheel = FlexibleWheel(0.175, 0.15, sand, Ring(bending_stiffness=2.0, hub_stiffness=10000.0))
        >>> force = wheel.normal_force(0.01)
        >>> print(f"{force.vertical:.0f} N up, {force.resistance:.1f} N against the motion")
        132 N up, 7.3 N against the motion
    """

    radius: float
    width: float
    soil: Soil
    ring: Ring
    ruts: bool = False
    _packed: FloatArray = field(init=False, repr=False, compare=False)
    _allowed: Range = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        wrong = [problem("radius", self.radius, _RADIUS), problem("width", self.width, _RADIUS)]
        wrong.append(None if isinstance(self.ring, Ring) else f"ring is {self.ring!r}, allowed: a Ring")
        wrong.append(tabled_soil_problem(self.soil))
        if isinstance(self.soil, Soil) and self.soil.slip_sinkage:
            wrong.append(f"soil.slip_sinkage is {self.soil.slip_sinkage:g}, allowed: 0")
        refuse("FlexibleWheel", wrong)
        for name in ("radius", "width"):
            object.__setattr__(self, name, float(getattr(self, name)))
        shapes = flexible_table.table(self.radius, self.width, self.soil, self.ring)
        if self.ruts:
            shapes = np.concatenate((shapes, flexible_rut.table(self.radius, self.width, self.soil, self.ring)))
        whole = packed.pack_tabled(self.radius, self.width, self.soil, packed.FLEXIBLE, shapes)
        object.__setattr__(self, "_packed", whole)
        object.__setattr__(self, "_allowed", Range(-math.inf, self.radius, "m (up to the radius)"))

    def __repr__(self) -> str:
        return (
            f"FlexibleWheel({self.radius!r}, {self.width!r}, {self.soil!r}, {self.ring!r}{', ruts=True' * self.ruts})"
        )

    @property
    def variant(self) -> str:
        """The name of this model in a config."""
        return "flexible"

    @property
    def parameters(self) -> FloatArray:
        """A copy of the packed parameters for the kernels, shape (flexible_table.SIZE,) or (flexible_rut.SIZE,)."""
        return self._packed.copy()

    def normal_force(self, sinkage: ArrayLike, share: ArrayLike = 0.0) -> NormalForce:
        """Returns the resultants of the normal pressure on the deflected wheel, from the table.

        Args:
            sinkage: Of the hub [m], at most the radius; <= 0 is no contact.
            share: Tangential force over its limit, -1 to 1, which deflects the wheel as well.

        Returns:
            Vertical force [N] upwards and compaction resistance [N]; floats, or arrays of the broadcast shape.

        Raises:
            ValueError: A value is not finite or out of range, or shapes do not fit.
        """
        z = finite_array("FlexibleWheel", "sinkage", sinkage, self._allowed)
        part = finite_array("FlexibleWheel", "share", share, _SHARE)
        loop = many.flexible_normal_forces
        return NormalForce(*many.over("FlexibleWheel", loop, self._packed, 2, sinkage=z, share=part))

    def normal_force_in_rut(self, sinkage: ArrayLike, deepest: ArrayLike, share: ArrayLike = 0.0) -> NormalForce:
        """Returns the resultants of the normal pressure in the rut of earlier wheels, see `models.wheel.flexible_rut`.

        Args:
            sinkage: Of the hub under the undisturbed ground [m], at most the radius.
            deepest: Depth to which the rims of earlier wheels have pressed the soil [m], at most the radius.
            share: Tangential force over its limit, -1 to 1.

        Raises:
            ValueError: As `normal_force`, or the wheel was made without ruts.
        """
        refuse("FlexibleWheel", [None if self.ruts else "ruts is False, allowed in a rut: True"])
        z = finite_array("FlexibleWheel", "sinkage", sinkage, self._allowed)
        deep = finite_array("FlexibleWheel", "deepest", deepest, self._allowed)
        part = finite_array("FlexibleWheel", "share", share, _SHARE)
        loop = many.flexible_normal_forces_in_rut
        return NormalForce(*many.over("FlexibleWheel", loop, self._packed, 2, sinkage=z, deepest=deep, share=part))

    def forces(self, sinkage: ArrayLike, slip: ArrayLike) -> WheelForces:
        """Returns the soil's force on the wheel and its torque about the axle, Petersen 2012 (4.30)-(4.32).

        The rim does not stretch, so it rolls on R, and slip is taken over R; see `slip_over_loaded_radius`.

        Args:
            sinkage: Of the hub [m], at most the radius; <= 0 is no contact.
            slip: 1 - v_x/(R omega) when driving [-]; negative when braking.

        Returns:
            Longitudinal force [N] positive forward (the drawbar pull), vertical force [N] upwards, and torque [N m],
            positive where it resists forward spin; floats, or arrays of the broadcast shape.

        Raises:
            ValueError: A value is not finite or out of range, or shapes do not fit.
        """
        z = finite_array("FlexibleWheel", "sinkage", sinkage, self._allowed)
        s = finite_array("FlexibleWheel", "slip", slip, _SLIP)
        return WheelForces(*many.over("FlexibleWheel", many.forces, self._packed, 3, sinkage=z, slip=s))

    def deflection(self, sinkage: ArrayLike, share: float = 0.0) -> Deflection:
        """Solves for the shape itself, Petersen 2012 (5.41)-(5.43); takes milliseconds.

        Args:
            sinkage: Of the hub [m], in (0, R), a scalar or one dimension.
            share: Tangential force over its limit, -1 to 1.

        Raises:
            ValueError: A value is not finite or out of range, or no shape balances the soil.
        """
        inside = Range(0.0, self.radius, "m (below the radius)", open_low=True, open_high=True)
        z = finite_array("FlexibleWheel", "sinkage", sinkage, inside)
        part = finite_array("FlexibleWheel", "share", share, _SHARE)
        wheels = rims(self.ring, self.radius, self.width, self.soil, np.atleast_1d(z))
        shape = balance(wheels, part)
        deepest = resultants_of(wheels, shape, part).deepest
        place, _, _ = wheels.at(shape)
        below = np.array([np.interp(0.0, at.real[::-1], -at.imag[::-1]) for at in place])
        if z.ndim == 0:
            return Deflection(float(deepest[0]), float(below[0]), shape[0])
        return Deflection(deepest, below, shape)

    def stress_forces(self, sinkage: ArrayLike, slip: ArrayLike) -> WheelForces:
        """Returns the forces from stresses on the balanced shape with Janosi and Hanamoto's shear, without the table.

        Args:
            sinkage: Of the hub [m], in (0, R), one dimension.
            slip: 1 - v_x/(R omega) when driving; R omega/v_x - 1 when braking [-], in (-1, 1], of the same shape.

        Returns:
            As `forces`, arrays of the shape of `sinkage`.

        Raises:
            ValueError: A value is not finite or out of range, the soil has no shear modulus, or no shape balances it.
        """
        if self.soil.shear_modulus is None:
            refuse("FlexibleWheel", ["soil.shear_modulus is None, allowed for stresses: a length in m"])
            raise AssertionError
        if self.soil.shear != SHEAR_LAWS[0]:
            refuse("FlexibleWheel", [f"soil.shear is {self.soil.shear!r}, allowed for stresses: {SHEAR_LAWS[0]!r}"])
        inside = Range(0.0, self.radius, "m (below the radius)", open_low=True, open_high=True)
        z = np.atleast_1d(finite_array("FlexibleWheel", "sinkage", sinkage, inside))
        s = np.broadcast_to(finite_array("FlexibleWheel", "slip", slip, _REAL_SLIP), z.shape)
        wheels = rims(self.ring, self.radius, self.width, self.soil, z)
        found = resultants_of(wheels, *balance_at_slip(wheels, s, self.soil.shear_modulus))
        return WheelForces(found.longitudinal, found.upward, found.torque)

    def slip_over_loaded_radius(self, slip: float, loaded_radius: float) -> float:
        """Returns the slip of Petersen 2012 (5.44), over the loaded radius, of a slip over R; both for driving.

        Args:
            slip: 1 - v_x/(R omega) [-].
            loaded_radius: R_l [m].
        """
        return 1.0 - (1.0 - slip) * self.radius / loaded_radius
