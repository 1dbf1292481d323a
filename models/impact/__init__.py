"""Impacts: effective kinetic energy, its sensitivity, the effect of compliant legs, and the capture of a payload."""

from models.impact.capture import CaptureOutcome, Payload, capture, mass_matrix_with
from models.impact.compliant import CompliantImpact, compliant_effective_kinetic_energy, on_springs
from models.impact.energy import (
    Projectors,
    effective_kinetic_energy,
    operational_inertia,
    pair_energy,
    pair_energy_on,
    projectors,
)
from models.impact.sensitivity import energy_gradient

__all__ = [
    "CaptureOutcome",
    "CompliantImpact",
    "Payload",
    "Projectors",
    "capture",
    "compliant_effective_kinetic_energy",
    "effective_kinetic_energy",
    "energy_gradient",
    "mass_matrix_with",
    "on_springs",
    "operational_inertia",
    "pair_energy",
    "pair_energy_on",
    "projectors",
]


def __dir__() -> list[str]:
    return __all__
