"""An identification as it is shown: section soil to paste, table, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import chi2

from hil.analysis.identification.directions import in_words, proposals
from hil.analysis.identification.fit import Identification
from hil.config.files import write_whole
from hil.experiments.summary import finite
from hil.experiments.summary_table import columns_table

_UNITS = {"stiffness": "N/m^(2+n)", "friction_angle_deg": "deg", "cohesion_Pa": "Pa"}
# Slips that differ by less are one slip.
_ONE_SLIP = 0.02
# Deviations so small that chance gives them more rarely.
_CHANCE = 1e-3
# Slips from which on, and correlation above which, the sinkage that is left over is said to go with the slip.
_SLIPS, _GOES_WITH = 3, 0.8


def warnings_of(found: Identification) -> list[str]:
    """What is wrong with a fit, in sentences; none where nothing is."""
    texts = []
    if found.widened > 1.0:
        texts.append(
            f"The wheel model does not describe these data within their uncertainties: the deviations are "
            f"{found.widened:.2g} times as large as expected, and the intervals are widened by that. See the figure: "
            "a run that is off, loads or a torque constant that are wrong, a soil that is not the same everywhere, or "
            "what the model leaves out: a wheel that slips sinks further (slip sinkage), pressure or shear along the "
            "contact by another law, and ruts; or uncertainties that are larger than stated."
        )
        if _digs(found):
            texts.append(
                "The measured sinkage grows with the slip more than that of the soil found: the wheel digs (slip "
                "sinkage). Find slip_sinkage too: --find slip_sinkage, with the others."
            )
    spare = len(found.residuals) - len(found.parameters)
    if found.reduced_chi_squared is not None and chi2.cdf(found.reduced_chi_squared * spare, spare) < _CHANCE:
        texts.append(
            f"The deviations are {found.reduced_chi_squared**0.5:.2g} times as large as the uncertainties say: these "
            "are stated too large, and so the intervals are too wide."
        )
    slips = [float(np.mean(window.slip)) for window in found.windows if window.slip is not None]
    if slips and max(slips) - min(slips) < _ONE_SLIP:
        texts.append(
            f"All drives have one slip, {slips[0]:.2f}: the shape of the traction curve is not in the data, only a "
            "point of it. Drive at other slips too."
        )
    for one in found.parameters:
        if one.on_bound:
            texts.append(f"{one.name} ended at an end of its range, {one.value:.4g}: its interval holds on one side.")
    return texts


def _digs(found: Identification) -> bool:
    """The sinkage that is left over goes with the slip, and slip sinkage was not searched."""
    if "slip_sinkage" in [one.name for one in found.parameters]:
        return False
    slips = {window.name: float(np.mean(np.abs(window.slip))) for window in found.windows if window.slip is not None}
    left = [
        (slips[one.window], (one.measured - one.fitted) / one.sd)
        for one in found.residuals
        if one.quantity == "sinkage_m" and one.window in slips
    ]
    x, y = np.array(left).reshape(-1, 2).T
    return len({*x.tolist()}) >= _SLIPS and y.std() > 0.0 and float(np.corrcoef(x, y)[0, 1]) > _GOES_WITH


def yaml_section(found: Identification) -> str:
    """Section soil of a config, to paste; what cannot be determined is marked."""
    searched = {one.name: one for one in found.parameters}
    lines = ["soil:"]
    for name, value in found.values.items():
        remark = "given"
        if (one := searched.get(name)) is not None:
            doubt = "" if one.determined else "not determined by the data: "
            remark = f"{doubt}95 % interval {one.low:.3g} to {one.high:.3g}"
        lines.append(f"  {name}: {_number(value)}  # {remark}")
    wheel = found.windows[0].wheel
    if wheel.shear_residual is not None:
        lines += [f"  shear: {wheel.shear}  # given", f"  shear_residual: {_number(wheel.shear_residual)}  # given"]
    return "\n".join(lines) + "\n"


def parameter_table(found: Identification) -> Table:
    """The parameters with their intervals."""
    rows = []
    for one in found.parameters:
        name = f"{one.name} [{_UNITS[one.name]}]" if one.name in _UNITS else one.name
        rows.append((name, f"{one.value:.4g}", f"{one.low:.3g} to {one.high:.3g}", "yes" if one.determined else "no"))
    return columns_table(("parameter", "value", "95 % interval", "determined"), rows, words=1)


def residual_table(found: Identification) -> Table:
    """Each measured value next to that of the soil found."""
    rows = []
    for one in found.residuals:
        off = (one.measured - one.fitted) / one.sd
        rows.append((one.window, one.quantity, f"{one.measured:.4g}", f"{one.fitted:.4g}", f"{off:+.1f}"))
    return columns_table(("window", "quantity", "measured", "soil found", "deviation [sd]"), rows, words=2)


def plain(found: Identification) -> dict[str, Any]:
    """As JSON has it."""
    return {
        "soil": found.values,
        "parameters": {fields.pop("name"): fields for one in found.parameters if (fields := asdict(one))},
        "given": dict(found.given),
        "determined": found.determined,
        "directions": [
            {"weights": dict(one.weights), "log_sd": finite(one.sd), "determined": one.determined}
            for one in found.directions
        ],
        "in_words": in_words(found),
        "further_experiments": proposals(found),
        "warnings": warnings_of(found),
        "reduced_chi_squared": found.reduced_chi_squared,
        "widened": found.widened,
        "windows": len(found.windows),
        "residuals": [asdict(one) for one in found.residuals],
    }


def save(found: Identification, folder: Path) -> dict[str, Any]:
    """Write identification.json and soil.yaml into a folder; returns what the first holds."""
    whole = plain(found)
    write_whole(folder / "identification.json", json.dumps(whole, indent=1, allow_nan=False) + "\n")
    write_whole(folder / "soil.yaml", yaml_section(found))
    return whole


def lines_of(whole: dict[str, Any]) -> Iterator[str]:
    """The sentences of a result, for the terminal."""
    yield from whole["warnings"]
    yield from whole["in_words"]
    if whole["further_experiments"]:
        yield "What would tell more, computed for the soil found:"
        yield from (f"- {text}" for text in whole["further_experiments"])


def _number(value: float) -> str:
    """Four digits, without an exponent: some readers of YAML take 1.5e6 for a text."""
    return f"{float(f'{value:.4g}'):.0f}" if value >= 1e4 else f"{value:.4g}"
