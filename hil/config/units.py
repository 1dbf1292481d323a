"""The unit of a key of a config, and its name without it."""

from __future__ import annotations

import re

# Endings of config keys and their units; the longest match counts.
_UNITS = {
    "_Nm": "N m", "_Npm": "N/m", "_Nspm": "N s/m", "_Pa": "Pa", "_V": "V", "_N": "N", "_deg": "deg", "_degps": "deg/s",
    "_degps2": "deg/s^2", "_hz": "Hz",
    "_kPa": "kPa", "_kPa_per_V": "kPa/V", "_kPa_per_count": "kPa/count",
    "_ms_per_count": "ms/count", "_kg": "kg", "_m": "m", "_mA": "mA",
    "_mVpN": "mV/N", "_mVpVpN": "mV/V/N", "_mm": "mm", "_mps": "m/s", "_ms": "ms", "_pCpN": "pC/N", "_per_s": "1/s",
    "_radps": "rad/s", "_radps2": "rad/s^2", "_rpm": "1/min", "_s": "s", "_spm": "s/m", "_us": "us",
    "_baud": "bit/s", "_mps2": "m/s^2", "_kgm2": "kg m^2",
}  # fmt: skip


def unit_of(key: str, description: str) -> str:
    """The unit in brackets at the end of the description, else the one that the key ends in; "1": a pure number.

    Example:
        >>> unit_of("speed_mps", "set forward speed"), unit_of("stiffness", "k of p = k z^n [N/m^(2+n)]")
        ('m/s', 'N/m^(2+n)')
    """
    if bracketed := re.search(r" \[([^]]+)\]$", description):
        return bracketed[1]
    return _UNITS.get(_ending(key), "1")


def name_of(key: str) -> str:
    """The key in words, without the unit that it ends in.

    Example:
        >>> name_of("start_distance_m"), name_of("slip_modulus")
        ('start distance', 'slip modulus')
    """
    return key.removesuffix(_ending(key)).replace("_", " ")


def _ending(key: str) -> str:
    """The longest ending that stands for a unit; empty: none does."""
    return max((ending for ending in _UNITS if f"_{key}".endswith(ending)), key=len, default="")
