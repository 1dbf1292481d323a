"""The rim of a flexible wheel: a thin inextensible ring that bends, held by springs to a rigid hub.

Petersen 2012, 5.2, corrected as in docs/reproduce/petersen_flexible_wheel.md. Angles are measured at the hub from the
lowest point, positive ahead; places in the wheel's plane are complex, x ahead + i z up. A point of the rim lies at
c - i (R + w) e^(i phi) + v e^(i phi): c is the ring's offset from the hub, w its radial deflection, outwards, and v the
one along the rim. The ring does not stretch: v' = -w, to first order. The shapes are sines and cosines of k phi from
k = 2 on: k = 1 bends nothing (w'' + w = 0) and is the translation c once more.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray

ComplexArray = npt.NDArray[np.complex128]

BENDING_STIFFNESS = Range(1e-6, 1e12, "N m^2")
HUB_STIFFNESS = Range(1.0, 1e12, "N/m a radian")
MOST_MODES = 12
_MASS = Range(0.0, 1e3, "kg/m")


@dataclass(frozen=True, slots=True)
class Ring:
    """The ring of a flexible wheel.

    Attributes:
        bending_stiffness: EI of the rim's section [N m^2], 1e-6 to 1e12.
        hub_stiffness: K of the springs between hub and rim [N/m for each radian of the rim], the same in all directions
            of the wheel's plane, Petersen 2012 (5.5); 1 to 1e12. The ring as a whole is held with 2 pi K.
        modes: Largest k of the bending shapes sin(k phi), cos(k phi), which begin at 2; 2 to 12.
        mass_per_length: rho A of the rim [kg/m], 0 to 1e3; for the full dynamics alone.

    Raises:
        ValueError: A value is out of range; all wrong ones are named at once.
    """

    bending_stiffness: float
    hub_stiffness: float
    modes: int = 5
    mass_per_length: float = 0.0

    def __post_init__(self) -> None:
        whole = isinstance(self.modes, int) and not isinstance(self.modes, bool) and 2 <= self.modes <= MOST_MODES
        refuse(
            "Ring",
            [
                problem("bending_stiffness", self.bending_stiffness, BENDING_STIFFNESS),
                problem("hub_stiffness", self.hub_stiffness, HUB_STIFFNESS),
                None if whole else f"modes is {self.modes!r}, allowed: a whole number in [2, {MOST_MODES}]",
                problem("mass_per_length", self.mass_per_length, _MASS),
            ],
        )

    @property
    def wave_numbers(self) -> FloatArray:
        """Wave numbers k of the shapes, shape (modes - 1,)."""
        return np.arange(2.0, self.modes + 1.0)

    @property
    def coordinates(self) -> int:
        """How many coordinates a deflected shape has: two of the offset, a_k of the sines, b_k of the cosines."""
        return 2 * self.modes

    def stiffnesses(self, radius: float) -> FloatArray:
        """Stiffness of each coordinate, from the bending and spring energy of Petersen 2012 (5.5).

        2 pi K of the offset, pi (EI/R^3 (k^2 - 1)^2 + K (1 + 1/k^2)) of a shape: the springs see w and v, and v is w/k.

        Args:
            radius: R [m].

        Returns:
            Shape (coordinates,) [N/m].
        """
        square = self.wave_numbers**2
        bending = self.bending_stiffness / radius**3 * (square - 1.0) ** 2
        each = math.pi * (bending + self.hub_stiffness * (1.0 + 1.0 / square))
        return np.concatenate((np.full(2, 2.0 * math.pi * self.hub_stiffness), each, each))


def displacements(ring: Ring, angle: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """What each coordinate does to points of the rim.

    Args:
        ring: The ring.
        angle: phi of the points, from the lowest one [rad], shape (...).

    Returns:
        Displacement of each point for one unit of each coordinate [-], and its derivative over phi, both of shape
        (..., coordinates).
    """
    order, turn = ring.wave_numbers, np.exp(1j * angle)[..., None]
    phase = angle[..., None] * order
    sine, cosine = np.sin(phase), np.cos(phase)
    still = np.ones_like(turn)
    place = np.concatenate(
        (still, 1j * still, turn * (cosine / order - 1j * sine), turn * (-sine / order - 1j * cosine)), -1
    )
    # w' - v of the two shapes; along the rim nothing changes: v' + w = 0
    lean = order - 1.0 / order
    slope = np.concatenate((0.0 * still, 0.0 * still, -1j * lean * cosine * turn, 1j * lean * sine * turn), -1)
    return place, slope
