"""What an identification prints: the parameters, and combinations of them that the data determine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from scipy.linalg import solve_triangular
from scipy.special import chdtr

from hil.analysis.identification.fit import DETERMINED_FACTOR, Direction, Identification
from hil.analysis.identification.forward import RANGES, ForwardModel, MeasuredMean, Window, soil_of
from hil.config.files import write_whole
from hil.experiments.summary import finite
from hil.experiments.summary_table import columns_table
from models.wheel.soil import SHEAR_LAWS

FloatArray = NDArray[np.float64]
# A parameter takes part in a direction from this weight on.
_PART = 0.15
# Slips and loads of further experiments; a slip this near to one that was driven is not a further one.
_SLIPS, _NEAR, _LOADS = (0.05, 0.1, 0.2, 0.4, 0.7), 0.03, (0.5, 1.0, 2.0)
# What their measurements would have as standard deviations: relative, and of a sinkage [m].
_SD, _SINKAGE_SD_M = 0.02, 5e-4
# Experiments that are proposed, at most, and the share of the worst direction that one has to take away.
_MOST, _WORTH = 3, 0.9
_STEP = 1e-4
# Of a combination that moves all measured values by less than this share of their standard deviations, none depends on
# it: that is what the search for a sinkage leaves. An interval of a wider log says nothing as a factor.
_NOTHING, _MOST_SD = 1e-6, 10.0
_DRIVE = "drive once more, at a slip of"


def in_words(found: Identification) -> list[str]:
    """A sentence for each direction that is not determined, and one where all are."""
    texts = [_undetermined(one, found.widened) for one in found.directions if not one.determined]
    if not texts:
        names = ", ".join(one.name for one in found.parameters)
        return [f"The data tell all of {names}, each combination within a factor of {DETERMINED_FACTOR:g}."]
    return texts


def _undetermined(direction: Direction, widened: float) -> str:
    parts = {name: weight for name, weight in direction.weights.items() if abs(weight) >= _PART}
    if direction.moves < _NOTHING:
        width = "nothing that was measured depends on it"
    elif direction.sd > _MOST_SD:
        width = f"twice or half of it changes what was measured by {direction.moves:.2g} standard deviations at most"
        width += f", and the data deviate by {widened:.2g} of them" if widened > 1.0 else ""
    else:
        width = f"its 95 % interval is a factor of {math.exp(1.96 * direction.sd):.3g} either way"
    if len(parts) == 1:
        return f"{next(iter(parts))} cannot be determined: {width}."
    names = [*parts]
    product = " ".join(f"{name}^{weight:+.2f}" for name, weight in parts.items())
    return f"{', '.join(names[:-1])} and {names[-1]} cannot be parted: along {product}, {width}."


def proposals(found: Identification) -> list[str]:
    """Experiments that would tell what is not determined, the most telling first; none where all is determined.

    Each is computed: its measurements are predicted by the soil found, with typical uncertainties, and added to what
    the data tell. One is proposed after the other, as long as each helps.
    """
    information, chosen = found.information, list[str]()
    names, values = [one.name for one in found.parameters], found.values
    *simple, single = (
        (text, _information(windows, values, names)) for text, windows in _candidates(found.windows, values)
    )
    while len(chosen) < _MOST and (worth := [one for one in simple if _is_worth(information, one[1])]):
        best = min(worth, key=lambda one: _rank(information + one[1])[0])  # of equal ones the simplest
        drives = [one for one in worth if one[0].startswith(_DRIVE)]
        if best[0].startswith(_DRIVE):  # at the slip that tells most
            best = min(drives, key=lambda one: _rank(information + one[1]))
        chosen.append(best[0])
        information = information + best[1]
        simple = [one for one in simple if one[0] != best[0]]
    # a bed for one wheel is the largest effort: where drives and a sinkage test leave something undetermined
    if _rank(information)[0] and _is_worth(information, single[1]):
        return [single[0]] if not _rank(found.information + single[1])[0] else [*chosen, single[0]]
    return chosen


def _is_worth(information: FloatArray, more: FloatArray) -> bool:
    """Whether more determines another direction, or much better what is determined worst; False where all is."""
    before, after = _rank(information), _rank(information + more)
    if not before[0]:
        return False
    return after[0] < before[0] or after[1] < _WORTH * before[1]


def _rank(information: FloatArray) -> tuple[int, float]:
    """Directions that are not determined, and the largest standard deviation of a log (a thousand for more)."""
    values = np.maximum(np.linalg.eigvalsh(information), 1e-6)
    sd = 1.0 / np.sqrt(values)
    return int((sd > math.log(DETERMINED_FACTOR) / 1.96).sum()), float(sd.max())


def _information(windows: Sequence[Window], values: dict[str, float], names: Sequence[str]) -> FloatArray:
    """(parameters, parameters) that windows would add, at a soil."""
    forward = ForwardModel(windows)
    base = forward.predict(soil_of(values))
    columns = []
    for name in names:
        step = _STEP if values[name] * math.exp(_STEP) <= RANGES[name][1] else -_STEP
        moved = {**values, name: values[name] * math.exp(step)}
        columns.append((forward.predict(soil_of(moved)) - base) / step)
    factor = np.linalg.cholesky(forward.covariance(soil_of(values)))
    weighted = solve_triangular(factor, np.column_stack(columns), lower=True)
    information: FloatArray = weighted.T @ weighted
    return information


def _candidates(windows: Sequence[Window], values: dict[str, float]) -> Iterator[tuple[str, list[Window]]]:
    """Experiments in words, simplest first, and their windows."""
    rolled = [window for window in windows if window.slip is not None]
    wheel = windows[0].wheel
    mean = float(np.mean([load for window in windows for load in window.load_N if load > 0.0]))
    if rolled:
        model = rolled[len(rolled) // 2]
        # a window of one experiment has what the others had
        driven = [float(np.mean(window.slip or ())) for window in rolled]
        for slip in _SLIPS:
            if min(abs(slip - one) for one in driven) > _NEAR:
                further = replace(model, slip=(slip,) * len(model.load_N), along_N=0.0)
                more = _predicted([further], values, [*model.measured])
                yield f"{_DRIVE} {slip:g}", more
        if any(window.torque_Nm is None for window in rolled):
            text = "measure the torque of the wheels in such drives (motor currents)"
            yield text, _predicted(rolled, values, ["torque_Nm"])
    loads = [share * mean for share in _LOADS]
    said = ", ".join(f"{load:.3g}" for load in loads)
    pressed = [Window("", wheel, (load,), None, sinkage_m=MeasuredMean(1.0, 1.0)) for load in loads]
    yield (
        f"a sinkage test: press a wheel down with {said} N, without turning it, and measure its sinkage",
        _predicted(pressed, values, ["sinkage_m"]),
    )
    if rolled:
        if any(window.sinkage_m is None for window in rolled):
            yield "measure the sinkage of the wheels in such drives", _predicted(rolled, values, ["sinkage_m"])
        heavier = [replace(window, load_N=tuple(1.5 * load for load in window.load_N)) for window in rolled]
        yield (
            "make such drives with half as much weight again (a payload)",
            _predicted(heavier, values, [*model.measured]),
        )
    single = [
        Window("", wheel, (load,), (slip,), (0.005,), sinkage_m=MeasuredMean(1.0, 1.0))
        for load in loads
        for slip in (0.1, 0.2, 0.4)
    ]
    yield (
        f"a single wheel on a carriage at {said} N and slips of 0.1, 0.2 and 0.4: pull, torque and sinkage",
        _predicted(single, values, ["pull_N", "torque_Nm", "sinkage_m"]),
    )


def _predicted(windows: Sequence[Window], values: dict[str, float], measured: Sequence[str]) -> list[Window]:
    """The windows with these quantities as they would be measured."""
    asked = [window.measuring(dict.fromkeys(measured, MeasuredMean(1.0, 1.0))) for window in windows]
    forward = ForwardModel(asked)
    found: list[dict[str, MeasuredMean]] = [{} for _ in windows]
    for (place, name), value in zip(forward.names, forward.predict(soil_of(values)).tolist(), strict=True):
        scale = max(abs(value), 0.02 * sum(windows[place].load_N) * (1.0 if name == "pull_N" else 0.1))
        found[place][name] = MeasuredMean(value, _SINKAGE_SD_M if name == "sinkage_m" else _SD * scale)
    return [window.measuring(one) for window, one in zip(asked, found, strict=True)]


_UNITS = {"stiffness": "N/m^(2+n)", "friction_angle_deg": "deg", "cohesion_Pa": "Pa"}
# Slips that differ by less are one slip.
_ONE_SLIP = 0.02
# Deviations so small that chance gives them more rarely.
_CHANCE = 1e-3
# Slips from which on, and correlation above which, the sinkage that is left over is said to go with the slip.
_FEWEST_SLIPS, _GOES_WITH = 3, 0.8


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
    if found.reduced_chi_squared is not None and chdtr(spare, found.reduced_chi_squared * spare) < _CHANCE:
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
    return len({*x.tolist()}) >= _FEWEST_SLIPS and y.std() > 0.0 and float(np.corrcoef(x, y)[0, 1]) > _GOES_WITH


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
    if wheel.shear != SHEAR_LAWS[0]:
        lines.append(f"  shear: {wheel.shear}  # given")
    if wheel.shear_residual is not None:
        lines.append(f"  shear_residual: {_number(wheel.shear_residual)}  # given")
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
