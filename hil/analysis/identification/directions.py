"""What the data cannot tell, in words, and which further experiment would tell it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from hil.analysis.identification.fit import DETERMINED_FACTOR, Direction, Identification
from hil.analysis.identification.forward import RANGES, ForwardModel, MeasuredMean, Window, soil_of

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
