"""A rigid wheel on soil, for scalars and arrays: the kernels behind a checked front door."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from models.compiled import FloatArray, kernel
from models.wheel import kernels
from models.wheel.checks import Range, problem, refuse
from models.wheel.soil import Soil

# Wider than any wheel, and narrow enough that no power of a length under- or overflows.
_LENGTH = Range(1e-6, 1e6, "m")
_SLIP = Range(-math.inf, math.inf, "")


@kernel
def _hypervolumes(p: FloatArray, sinkage: FloatArray, out: FloatArray) -> None:
    for i in range(sinkage.size):
        out[i] = kernels.hypervolume_symmetric(p, sinkage[i])


@kernel
def _normal_forces(p: FloatArray, sinkage: FloatArray, out: FloatArray) -> None:
    for i in range(sinkage.size):
        out[0, i], out[1, i] = kernels.normal_resultants(p, sinkage[i])


@kernel
def _forces(p: FloatArray, sinkage: FloatArray, slip: FloatArray, out: FloatArray) -> None:
    for i in range(sinkage.size):
        out[0, i], out[1, i], out[2, i] = kernels.wheel_forces(p, sinkage[i], slip[i])


@dataclass(frozen=True, slots=True)
class RigidWheel:
    """A rigid cylindrical wheel of constant width on a soil, Petersen 2012 chapters 3 and 4, Tire III.

    Sinkage and slip may be scalars or arrays (broadcast against each other): scalars give floats, arrays give arrays of
    the broadcast shape, and both are the numbers the kernels of `models.wheel.kernels` give inside compiled code.

    Attributes:
        radius: R [m], 1e-6 to 1e6.
        width: b [m], 1e-6 to 1e6.
        soil: The soil.
        variant: "exact" (integrals of the column model, the default) or "published" (the thesis's closed forms; their
            known errors are listed in `models.wheel.published`).

    Raises:
        ValueError: A parameter is out of range; all wrong ones are named at once.
    """

    radius: float
    width: float
    soil: Soil
    variant: str = "exact"
    _packed: FloatArray = field(init=False, repr=False, compare=False)
    _allowed: Range = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        wrong = [problem("radius", self.radius, _LENGTH), problem("width", self.width, _LENGTH)]
        wrong.append(None if isinstance(self.soil, Soil) else f"soil is {self.soil!r}, allowed: a Soil")
        known = isinstance(self.variant, str) and self.variant in kernels.VARIANTS
        wrong.append(None if known else f"variant is {self.variant!r}, allowed: one of {kernels.VARIANTS}")
        refuse("RigidWheel", wrong)
        radius, width = float(self.radius), float(self.width)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "_packed", kernels.pack(radius, width, self.soil, self.variant))
        object.__setattr__(self, "_allowed", Range(-math.inf, radius, "m (up to the radius)"))

    @property
    def parameters(self) -> FloatArray:
        """A copy of the packed parameters for `models.wheel.kernels`, shape (kernels.SIZE,)."""
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
        out = np.empty(z.size)
        _hypervolumes(self._packed, z.ravel(), out)
        return out.reshape(z.shape)

    def normal_force(self, sinkage: ArrayLike) -> tuple[Any, Any]:
        """Returns the resultants of the normal pressure, Petersen 2012 (4.26).

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.

        Returns:
            Vertical force [N] upwards and compaction resistance [N], positive against forward motion; floats, or arrays
            of the shape of `sinkage`. For `published` they are F_n cos(phi) and F_n sin(phi).

        Raises:
            ValueError: A sinkage is not finite or above the radius.
        """
        z = self._sinkage(sinkage)
        if z.ndim == 0:
            vertical, horizontal = kernels.normal_resultants(self._packed, float(z))
            return float(vertical), float(horizontal)
        out = np.empty((2, z.size))
        _normal_forces(self._packed, z.ravel(), out)
        return out[0].reshape(z.shape), out[1].reshape(z.shape)

    def forces(self, sinkage: ArrayLike, slip: ArrayLike) -> tuple[Any, Any, Any]:
        """Returns the soil's force on the wheel and its torque about the axle, Petersen 2012 (4.30)-(4.32).

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.
            slip: 1 - v_x/(R omega) when driving [-]; negative when braking.

        Returns:
            Longitudinal force [N] positive forward (the drawbar pull), vertical force [N] upwards, and torque [N m],
            positive where it resists forward spin; floats, or arrays of the broadcast shape.

        Raises:
            ValueError: A sinkage is not finite or above the radius, a slip is not finite, or their shapes do not fit.
        """
        z, s = self._sinkage(sinkage), _finite("slip", slip, _SLIP)
        if z.ndim == 0 and s.ndim == 0:
            longitudinal, vertical, torque = kernels.wheel_forces(self._packed, float(z), float(s))
            return float(longitudinal), float(vertical), float(torque)
        try:
            z, s = np.broadcast_arrays(z, s)
        except ValueError:
            message = f"RigidWheel: sinkage has shape {z.shape} and slip {s.shape}, allowed: shapes that broadcast"
            raise ValueError(message) from None
        out = np.empty((3, z.size))
        _forces(self._packed, z.flatten(), s.flatten(), out)
        return out[0].reshape(z.shape), out[1].reshape(z.shape), out[2].reshape(z.shape)

    def _sinkage(self, sinkage: ArrayLike) -> FloatArray:
        return _finite("sinkage", sinkage, self._allowed)


def _finite(name: str, value: ArrayLike, allowed: Range) -> FloatArray:
    """Returns the value as a float64 array, or raises ValueError naming the first element that is not in the range."""
    if type(value) is float and value in allowed:  # the common scalar call, four times as fast
        return np.asarray(value)
    try:
        raw = np.asarray(value)
    except ValueError:  # a ragged list
        raw = np.empty(0, dtype=object)
    if raw.dtype.kind not in "iuf":
        raise ValueError(f"RigidWheel: {name} is {value!r}, allowed: {allowed}, or an array of such numbers")
    array = np.ascontiguousarray(raw, dtype=np.float64) if raw.ndim else raw.astype(np.float64)
    good = np.isfinite(array) & (array <= allowed.high)
    if not np.all(good):
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        place = f"[{', '.join(map(str, index))}]" if index else ""
        raise ValueError(f"RigidWheel: {name}{place} is {array[index]:g}, allowed: {allowed}")
    return array
