"""How large the innovation of a good reading may be."""

from __future__ import annotations

from scipy.special import gammaincinv

# A reading is believed if its squared normalised innovation is in this part of its chi-square distribution.
BELIEVED = 0.9999


def innovation_bound(values: int) -> float:
    """Largest squared normalised innovation of a reading that is believed, over its number of independent values."""
    return float(2.0 * gammaincinv(0.5 * values, BELIEVED)) / values


def independent_values(channels: int, role: str) -> int:
    """Of a reading of an instrument: a quaternion's four numbers are three turns."""
    return channels - 1 if role == "motion" and channels > 3 else channels
