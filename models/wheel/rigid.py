"""A rigid wheel on soil, for scalars and arrays: the kernels behind an interface that checks its arguments."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from models.checks import Range, finite_array, problem, refuse
from models.kernels.compiled import FloatArray
from models.wheel import kernels, many, packed, rut, traction
from models.wheel.many import DriftForces, NormalForce, WheelForces
from models.wheel.soil import SHEAR_LAWS, Soil, sheared_by_grousers, sheared_by_rim

# Wider than any wheel, and narrow enough that no power of a length under- or overflows.
_LENGTH = Range(1e-6, 1e6, "m")
_GROUSER = Range(0.0, 1e6, "m")
_SLIP = Range(-math.inf, math.inf, "")
_DRIVING_SLIP = Range(0.0, 1.0, "")
_SHARE = Range(0.0, 1.0, "", open_low=True)
_ANGLE = Range(-math.pi / 2, math.pi / 2, "rad", open_low=True, open_high=True)
_SPEED = Range(-1e6, 1e6, "m/s")
_SLIP_SPEED = Range(1e-9, 1e6, "m/s")


def _xu_problems(soil: Soil) -> list[str | None]:
    """Values that a soil lacks for the variant "xu"."""
    needed = ("shear_modulus", "peak_offset", "peak_slope")
    missing = [name for name in needed if getattr(soil, name) is None]
    problems: list[str | None] = [f"soil.{name} is None, allowed with variant 'xu': a number" for name in missing]
    if soil.shear != SHEAR_LAWS[0]:
        problems.append(f"soil.shear is {soil.shear!r}, allowed with variant 'xu': {SHEAR_LAWS[0]!r}")
    if soil.slip_sinkage:
        problems.append(f"soil.slip_sinkage is {soil.slip_sinkage:g}, allowed with variant 'xu': 0")
    if soil.slip_modulus_exponent:
        found = f"soil.slip_modulus_exponent is {soil.slip_modulus_exponent:g}"
        problems.append(f"{found}, allowed with variant 'xu', which has no slip modulus: 0")
    if soil.bulldozing is not None:
        problems.append(f"soil.bulldozing is {soil.bulldozing}, allowed with variant 'xu': None")
    if soil.peak_offset is not None and soil.peak_slope is not None:
        allowed = Range(0.0, 1.0, "with variant 'xu'", open_high=True)
        problems.append(problem("soil.peak_offset + soil.peak_slope", soil.peak_offset + soil.peak_slope, allowed))
    return problems


@dataclass(frozen=True, slots=True, repr=False)
class RigidWheel:
    """A rigid cylindrical wheel of constant width on a soil, Petersen 2012 chapters 3 and 4.

    Sinkages, slips and speeds may be scalars or arrays (broadcast against each other): scalars give floats, arrays give
    arrays of the broadcast shape. Both are the results of this package's kernels in compiled code.

    Attributes:
        radius: R [m], 1e-6 to 1e6.
        width: b [m], 1e-6 to 1e6.
        soil: The soil.
        variant: "exact" (integrals of the column model of Tire III, the default; "tire_3" is an alias), "tire_1"
            and "tire_2" (the same for Tire I and II), "published" (the thesis's closed forms; their known errors are
            listed in `models.wheel.published`) or "xu" (the linear stresses of Xu 2021, see `models.wheel.xu`).
        grouser_height: Added to the radius [m]: for the forces, a wheel with grousers has this effective radius, as in
            Petersen 2012 (5.4) and MacMahon 2016 (6.2.7). 0 to 1e6.
        grouser_thrust: Grousers also shear the soil at their sides (`models.wheel.soil.sheared_by_grousers`).
        rim_friction: Of the soil on a smooth rim over that within the soil [-], in (0, 1]
            (`models.wheel.soil.sheared_by_rim`).

    Raises:
        ValueError: A parameter is out of range; all wrong ones are named at once.

    Example:
        >>> from models.wheel import Soil
        >>> sand = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
        >>> wheel = RigidWheel(radius=0.175, width=0.15, soil=sand)
        >>> wheel
        RigidWheel(0.175, 0.15, Soil(1783000.0, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185))
        >>> force = wheel.normal_force(0.006)
        >>> print(f"{force.vertical:.1f} N up, {force.resistance:.1f} N against the motion")
        235.4 N up, 18.6 N against the motion
    """

    radius: float
    width: float
    soil: Soil
    variant: str = "exact"
    grouser_height: float = field(default=0.0, kw_only=True)
    grouser_thrust: bool = field(default=False, kw_only=True)
    rim_friction: float = field(default=1.0, kw_only=True)
    _packed: FloatArray = field(init=False, repr=False, compare=False)
    _allowed: Range = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        wrong = [problem("radius", self.radius, _LENGTH), problem("width", self.width, _LENGTH)]
        wrong.append(problem("grouser_height", self.grouser_height, _GROUSER))
        wrong.append(problem("rim_friction", self.rim_friction, _SHARE))
        wrong.append(None if isinstance(self.soil, Soil) else f"soil is {self.soil!r}, allowed: a Soil")
        variant = packed.SYNONYMS.get(self.variant, self.variant) if isinstance(self.variant, str) else None
        known = variant in packed.VARIANTS
        wrong.append(None if known else f"variant is {self.variant!r}, allowed: one of {packed.VARIANTS}")
        if variant == "xu" and isinstance(self.soil, Soil):
            wrong.extend(_xu_problems(self.soil))
        refuse("RigidWheel", wrong)
        for name in ("radius", "width", "grouser_height"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "variant", variant)
        radius = self.effective_radius
        soil = sheared_by_rim(self.soil, self.rim_friction)
        soil = sheared_by_grousers(soil, self.grouser_height, self.width) if self.grouser_thrust else soil
        object.__setattr__(self, "_packed", packed.pack(radius, self.width, soil, self.variant))
        object.__setattr__(self, "_allowed", Range(-math.inf, radius, "m (up to the radius)"))

    def __repr__(self) -> str:
        variant = "" if self.variant == "exact" else f", {self.variant!r}"
        grousers = f", grouser_height={self.grouser_height!r}" if self.grouser_height else ""
        grousers += ", grouser_thrust=True" if self.grouser_thrust else ""
        grousers += f", rim_friction={self.rim_friction!r}" if self.rim_friction != 1.0 else ""
        return f"RigidWheel({self.radius!r}, {self.width!r}, {self.soil!r}{variant}{grousers})"

    @property
    def effective_radius(self) -> float:
        """Radius to the grousers' tips [m], which counts for forces and slip and is the largest sinkage."""
        return self.radius + self.grouser_height

    @property
    def parameters(self) -> FloatArray:
        """A copy of the packed parameters for the kernels of this package, shape (packed.SIZE,)."""
        return self._packed.copy()

    def hypervolume(self, sinkage: ArrayLike) -> Any:
        """Returns the hypervolume of the whole, symmetric contact, Petersen 2012 (3.4).

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.

        Returns:
            V_h [m^(exponent+2)], a float or an array of the shape of `sinkage`.

        Raises:
            ValueError: A sinkage is not finite or above the radius.
        """
        z = self._sinkage(sinkage)
        if z.ndim == 0:
            return float(kernels.hypervolume_symmetric(self._packed, float(z)))
        return self._many(many.hypervolumes, 1, sinkage=z)[0]

    def normal_force(self, sinkage: ArrayLike) -> NormalForce:
        """Returns the resultants of the normal pressure, Petersen 2012 (4.17), (4.19), (4.26), or Xu 2021 (26).

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.

        Returns:
            Vertical force [N] upwards and compaction resistance [N], positive against forward motion; floats, or arrays
            of the shape of `sinkage`. For `published` they are F_n cos(phi) and F_n sin(phi), for `xu` those at slip 0.

        Raises:
            ValueError: A sinkage is not finite or above the radius.
        """
        z = self._sinkage(sinkage)
        if z.ndim == 0:
            return NormalForce(*map(float, kernels.normal_resultants(self._packed, float(z))))
        return NormalForce(*self._many(many.normal_forces, 2, sinkage=z))

    def normal_force_in_rut(self, sinkage: ArrayLike, deepest: ArrayLike) -> NormalForce:
        """Returns the resultants of the normal pressure in the rut of earlier wheels, see `models.wheel.rut`.

        Args:
            sinkage: z below the undisturbed ground [m], at most the radius; down to (1 - rebound) deepest no contact.
            deepest: The largest sinkage of the earlier wheels [m], at most the radius; <= 0 is fresh soil.

        Returns:
            Vertical force [N] upwards and compaction resistance [N]; floats, or arrays of the broadcast shape.

        Raises:
            ValueError: A length is not finite or above the radius, shapes do not fit, or the variant is not "exact".
        """
        self._only("exact")
        z, deep = self._sinkage(sinkage), finite_array("RigidWheel", "deepest", deepest, self._allowed)
        if z.ndim == 0 and deep.ndim == 0:
            return NormalForce(*map(float, rut.normal_resultants(self._packed, float(z), float(deep))))
        return NormalForce(*self._many(many.normal_forces_in_rut, 2, sinkage=z, deepest=deep))

    def forces(self, sinkage: ArrayLike, slip: ArrayLike) -> WheelForces:
        """Returns the soil's force on the wheel and its torque about the axle, Petersen 2012 (4.30)-(4.32).

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.
            slip: 1 - v_x/(R omega) when driving [-]; negative when braking. For `xu` 0 to 1. Where traction depends on
                the speed, that is `slip_modulus_speed`.

        Returns:
            Longitudinal force [N] positive forward (the drawbar pull), vertical force [N] upwards, and torque [N m],
            positive where it resists forward spin; floats, or arrays of the broadcast shape.

        Raises:
            ValueError: A sinkage is not finite or above the radius, a slip is not finite or not in the variant's range,
                or their shapes do not fit.

        Example:
            >>> from models.wheel import Soil
            >>> sand = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
            >>> forces = RigidWheel(0.175, 0.15, sand).forces(0.006, [0.0, 0.2, 0.4])
            >>> forces.longitudinal.round(1).tolist()
            [-18.6, 88.4, 112.7]
        """
        z, s = self._sinkage(sinkage), self._slip(slip)
        if z.ndim == 0 and s.ndim == 0:
            return WheelForces(*map(float, kernels.wheel_forces(self._packed, float(z), float(s))))
        return WheelForces(*self._many(many.forces, 3, sinkage=z, slip=s))

    def forces_at_angle(self, sinkage: ArrayLike, slip: ArrayLike, slip_angle: ArrayLike) -> DriftForces:
        """Returns the forces of a wheel that drifts sideways, see `models.wheel.traction.forces_at_angle`.

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.
            slip: 1 - v_x/(R omega) when driving [-]; R omega/v_x - 1 when braking. For `xu` 0 to 1.
            slip_angle: atan(v_y / v_x) [rad], positive where the wheel drifts to the left, in (-pi/2, pi/2).

        Returns:
            Longitudinal force [N] forward, lateral force [N] to the left, vertical force [N] upwards, torque [N m];
            floats, or arrays of the broadcast shape.

        Raises:
            ValueError: An input is not finite or out of range, shapes do not fit, or the variant is "xu" and its soil
                has no lateral_rate.
        """
        self._with_lateral_rate()
        z, s = self._sinkage(sinkage), self._slip(slip)
        alpha = finite_array("RigidWheel", "slip_angle", slip_angle, _ANGLE)
        return self._four(traction.forces_at_angle, many.forces_at_angle, sinkage=z, slip=s, slip_angle=alpha)

    def moving_forces(
        self,
        sinkage: ArrayLike,
        forward_speed: ArrayLike,
        rolling_speed: ArrayLike,
        sideways_speed: ArrayLike = 0.0,
        *,
        slip_speed: float = 1e-3,
    ) -> DriftForces:
        """Returns the forces of a driving, braking, standing or reversing wheel, smooth through rest.

        See `models.wheel.traction.moving_forces`. Speeds lie within 1e6 m/s.

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.
            forward_speed: v_x of the axle along the heading [m/s].
            rolling_speed: Effective radius times spin [m/s], positive for forward spin.
            sideways_speed: v_y [m/s], positive to the left.
            slip_speed: Speed below which slip becomes sliding speed over this [m/s], 1e-9 to 1e6.

        Returns:
            Longitudinal force [N] forward, lateral force [N] to the left, vertical force [N] upwards, torque [N m],
            positive where it resists forward spin; floats, or arrays of the broadcast shape.

        Raises:
            ValueError: An input is not finite or out of range, shapes do not fit, or the variant is "xu" and its soil
                has no lateral_rate.
        """
        self._with_lateral_rate()
        speeds = {
            "forward_speed": finite_array("RigidWheel", "forward_speed", forward_speed, _SPEED),
            "sideways_speed": finite_array("RigidWheel", "sideways_speed", sideways_speed, _SPEED),
            "rolling_speed": finite_array("RigidWheel", "rolling_speed", rolling_speed, _SPEED),
            "slip_speed": finite_array("RigidWheel", "slip_speed", slip_speed, _SLIP_SPEED),
        }
        return self._four(traction.moving_forces, many.moving_forces, sinkage=self._sinkage(sinkage), **speeds)

    def _four(self, one: Callable[..., Any], loop: Callable[..., None], **inputs: FloatArray) -> DriftForces:
        """Calls a kernel of four components on scalars, or its loop on arrays."""
        if all(value.ndim == 0 for value in inputs.values()):
            return DriftForces(*map(float, one(self._packed, *map(float, inputs.values()))))
        return DriftForces(*self._many(loop, 4, **inputs))

    def _many(self, loop: Callable[..., None], rows: int, **inputs: FloatArray) -> list[Any]:
        return many.over("RigidWheel", loop, self._packed, rows, **inputs)

    def _with_lateral_rate(self) -> None:
        if self.variant == "xu" and self.soil.lateral_rate is None:
            refuse("RigidWheel", ["soil.lateral_rate is None, allowed for a lateral force with variant 'xu': a number"])

    def _only(self, *variants: str) -> None:
        if self.variant not in variants:
            refuse("RigidWheel", [f"variant is {self.variant!r}, allowed here: one of {variants}"])

    def _sinkage(self, sinkage: ArrayLike) -> FloatArray:
        return finite_array("RigidWheel", "sinkage", sinkage, self._allowed)

    def _slip(self, slip: ArrayLike) -> FloatArray:
        return finite_array("RigidWheel", "slip", slip, _DRIVING_SLIP if self.variant == "xu" else _SLIP)
