"""A rigid wheel with a crowned rim: domed, or a torus."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from models.checks import Range, finite_array, problem, refuse
from models.kernels.compiled import FloatArray
from models.wheel import crown_table, many, packed
from models.wheel.many import NormalForce, WheelForces
from models.wheel.soil import Soil, tabled_soil_problem

_LENGTH = Range(1e-3, 1e3, "m")
_SLIP = Range(-math.inf, math.inf, "")


@dataclass(frozen=True, repr=False)
class CrownedWheel:
    """A rigid wheel whose rim is an arc across, on a soil; upright. A very flat one is the `RigidWheel` "exact".

    The RCP's wheels are domed (MacMahon 2016, 5.4); a crown radius of half the width makes a torus (Petersen 2012,
    3.2.1). Sinkages are those of the middle of the rim. They may be scalars or arrays.

    Attributes:
        radius: R of the middle [m], 1e-3 to 1e3.
        width: b [m], 1e-3 to 1e3.
        soil: The soil; its rebound is at most 2/(exponent + 1).
        crown: rho, radius of the rim's arc across [m], at least half the width. The edges must lie outside the axle.

    Raises:
        ValueError: A parameter is out of range; all wrong ones are named.

    Example:
        >>> from models.wheel import CrownedWheel, Soil
        >>> sand = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
        >>> domed, torus = (CrownedWheel(0.175, 0.15, sand, crown) for crown in (0.3, 0.075))
        >>> [round(wheel.normal_force(0.01).vertical) for wheel in (domed, torus)]
        [284, 140]
    """

    radius: float
    width: float
    soil: Soil
    crown: float
    _packed: FloatArray = field(init=False, repr=False, compare=False)
    _allowed: Range = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        wrong = [problem("radius", self.radius, _LENGTH), problem("width", self.width, _LENGTH)]
        if not any(wrong):
            wrong.append(problem("crown", self.crown, Range(0.5 * self.width, math.inf, "m, from half the width")))
        if not any(wrong) and crown_table.edge_drop(self.width, self.crown) >= self.radius:
            wrong.append(
                f"crown is {self.crown} m, allowed: one whose edges lie outside the axle, {self.radius} m away"
            )
        wrong.append(tabled_soil_problem(self.soil))
        refuse("CrownedWheel", wrong)
        for name in ("radius", "width", "crown"):
            object.__setattr__(self, name, float(getattr(self, name)))
        table = crown_table.table(self.radius, self.width, self.crown, self.soil)
        whole = packed.pack_tabled(self.radius, self.width, self.soil, packed.CROWNED, table)
        object.__setattr__(self, "_packed", whole)
        object.__setattr__(self, "_allowed", Range(-math.inf, self.radius, "m (up to the radius)"))

    def __repr__(self) -> str:
        return f"CrownedWheel({self.radius!r}, {self.width!r}, {self.soil!r}, {self.crown!r})"

    @property
    def variant(self) -> str:
        """The name of this model in messages; a config has `wheel.crown_radius_m`."""
        return "crowned"

    @property
    def parameters(self) -> FloatArray:
        """A copy of the packed parameters for the kernels of this package, shape (crown_table.SIZE,)."""
        return self._packed.copy()

    def hypervolume(self, sinkage: ArrayLike) -> Any:
        """Returns the hypervolume of the whole, symmetric contact, Petersen 2012 (3.4), by quadrature.

        Args:
            sinkage: z [m], above 0 and at most the radius.

        Returns:
            V_h [m^(exponent+2)], a float or an array of the shape of `sinkage`.

        Raises:
            ValueError: A sinkage is not finite or out of range.
        """
        inside = Range(0.0, self.radius, "m (up to the radius)", open_low=True)
        z = finite_array("CrownedWheel", "sinkage", sinkage, inside)
        soil = self.soil
        found = crown_table.slices(
            self.radius, self.width, self.crown, soil.exponent, soil.rebound, z.ravel()
        ).hypervolume
        return float(found[0]) if z.ndim == 0 else found.reshape(z.shape)

    def normal_force(self, sinkage: ArrayLike) -> NormalForce:
        """Returns the resultants of the normal pressure, from the table.

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.

        Returns:
            Vertical force [N] upwards and compaction resistance [N]; floats, or arrays of the shape of `sinkage`.

        Raises:
            ValueError: A sinkage is not finite or above the radius.
        """
        z = finite_array("CrownedWheel", "sinkage", sinkage, self._allowed)
        return NormalForce(*many.over("CrownedWheel", many.normal_forces, self._packed, 2, sinkage=z))

    def forces(self, sinkage: ArrayLike, slip: ArrayLike) -> WheelForces:
        """Returns the soil's force on the wheel and its torque about the axle, Petersen 2012 (4.30)-(4.32).

        Slip is taken over R; the rest of the rim runs slower.

        Args:
            sinkage: z [m], at most the radius; <= 0 is no contact.
            slip: 1 - v_x/(R omega) when driving [-]; negative when braking.

        Returns:
            Longitudinal force [N] positive forward (the drawbar pull), vertical force [N] upwards, and torque [N m],
            positive where it resists forward spin; floats, or arrays of the broadcast shape.

        Raises:
            ValueError: A value is not finite or out of range, or shapes do not fit.
        """
        z = finite_array("CrownedWheel", "sinkage", sinkage, self._allowed)
        s = finite_array("CrownedWheel", "slip", slip, _SLIP)
        return WheelForces(*many.over("CrownedWheel", many.forces, self._packed, 3, sinkage=z, slip=s))
