"""Energy available to an impact: effective kinetic energy, its sensitivity, and the effect of compliant legs."""

from models.impact.compliant import CompliantImpact, compliant_effective_kinetic_energy, on_springs
from models.impact.energy import Projectors, effective_kinetic_energy, pair_energy, pair_energy_on, projectors
from models.impact.sensitivity import energy_gradient

__all__ = [
    "CompliantImpact",
    "Projectors",
    "compliant_effective_kinetic_energy",
    "effective_kinetic_energy",
    "energy_gradient",
    "on_springs",
    "pair_energy",
    "pair_energy_on",
    "projectors",
]


def __dir__() -> list[str]:
    return __all__
