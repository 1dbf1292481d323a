"""How the results of a run depend on keys of its config (an application of Petersen 2012, 1.4).

Near the config: derivatives by central differences, one key at a time, with their scatter over seeds. Over ranges: the
shares of the variance that each key has (Sobol' indices, estimators of Saltelli et al. 2010).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from hil.analysis.statistics import LEVEL, FloatArray, spread_of
from hil.campaign.evaluations import (
    Asked,
    Evaluations,
    Row,
    Study,
    StudyExecution,
    StudyParameter,
    evaluations,
    make_study,
)
from hil.campaign.sweep import write_table
from hil.config import Config, ConfigError, Problem
from hil.config.files import replacing, write_whole
from hil.experiments.drawing import (
    COLOURS,
    dress_panel,
    new_figure,
    save_figure,
    set_frame,
    share_legend,
    source_line,
    study_facts,
)
from hil.experiments.figure_form import FigureForm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SENSITIVITY = "sensitivity"
_RESAMPLES = 999  # of the bootstrap


def sensitivity_study(
    base: Config,
    results: Sequence[str],
    of: Mapping[str, Asked],
    ranges: Mapping[str, tuple[float, float]],
    *,
    share: float = 0.05,
    repeats: int = 5,
    samples: int = 64,
    problems: Sequence[Problem] = (),
) -> Study:
    """A study of derivatives at the config's own values, or of Sobol' indices over ranges.

    Args:
        base: the config.
        results: flat names of numbers in a summary.
        of: step to either side by key; None: a share of the key's value, or of its bounds where that is 0.
        ranges: in place of steps, smallest and largest value by key, which is uniform there, independent of the others.
        share: of the value, above 0 and below 1.
        repeats: seeds that each step is made with, from that of the config on.
        samples: n of the indices, a power of 2: there are n (keys + 2) runs.
        problems: that are known already.

    Raises:
        ConfigError: with all problems at once.
    """
    problems = [*problems]
    if bool(of) == bool(ranges):
        problems.append(Problem("keys", "both or none", "keys with steps (--of), or keys with ranges (--range)"))
    if not 0.0 < share < 1.0:
        problems.append(Problem("share", f"{share:g}", "a number above 0 and below 1"))
    if samples < 2 or samples & (samples - 1):
        problems.append(Problem("samples", str(samples), "a power of 2"))
    options = {"samples": samples} if ranges else {"repeats": repeats}
    return make_study(base, {**of, **ranges}, results, options, problems, share=share)


def run_sensitivity(
    study: Study,
    execution: StudyExecution,
    form: FigureForm = FigureForm(),  # noqa: B008
) -> dict[str, Any]:
    """Make the runs, and leave evaluations.csv, sensitivity.csv, sensitivity.json and sensitivity.png in the folder.

    Returns:
        What sensitivity.json holds.

    Raises:
        StudyStoppedError: it was stopped.
        ConfigError: a result is no number in a run of the config, or runs within the ranges are not accepted.
        FolderError, WorkersError, OSError: as `evaluations`.
    """
    count, samples = len(study.parameters), study.options.get("samples")
    most = 1 + samples * (count + 2) if samples else study.options["repeats"] * (2 * count + 1)
    with evaluations(study, execution, most) as evaluate:
        evaluate.of_config()
        rows = (_indices if samples else _derivatives)(study, evaluate)
        base, place = study.base, execution.folder / SENSITIVITY
        facts = {"config": base.name, "seed": base.seed, **study.head(), **study.options}
        found = {**facts, **evaluate.counted(), "sensitivities": rows}
        with replacing(place.with_suffix(".csv")) as unfinished:
            write_table(unfinished, rows, "csv")
        write_whole(place.with_suffix(".json"), json.dumps(found, indent=1, allow_nan=False) + "\n")
        figure = draw_sensitivity(found, form, execution.folder.absolute().name)
        save_figure(figure, form.path(execution.folder, SENSITIVITY), str(figure.get_label()), study_facts(base), form)
    return found


def _derivatives(study: Study, evaluate: Evaluations) -> list[Row]:
    """A row for each result and key, with 95 % intervals of means over the seeds.

    Runs with the same seed are compared, so that what is random in both of them falls out.
    """
    seeds = range(study.options["repeats"])
    ends = [{one.key: end} for one in study.parameters for end in (one.low, one.high)]
    found = evaluate([study.point(change, seed) for change in ({}, *ends) for seed in seeds])
    table = []
    for name in study.results:
        accepted = [row[name] if row["accepted"] and row.get(name) is not None else np.nan for row in found]
        base, *others = np.reshape(accepted, (-1, len(seeds)))
        at_config = None if np.isnan(base).all() else float(np.nanmean(base))
        for one, low, high in zip(study.parameters, others[::2], others[1::2], strict=True):
            head = {"result": name, "key": one.key, "value": one.value, "low": one.low, "high": one.high}
            table.append({**head, "at_config": at_config, **_derivative(one, at_config, low, high)})
    return table


def _derivative(one: StudyParameter, at_config: float | None, low: FloatArray, high: FloatArray) -> Row:
    """Derivative and elasticity from a result at both ends, (seeds,), NaN of a run that is not accepted.

    The elasticity is the derivative times the key's value over the result at the config: % of the result for 1 % of the
    key. `_u95` is half of a 95 % interval.
    """
    both = np.isfinite(low) & np.isfinite(high)
    names = ("at_low", "at_high", "derivative", "derivative_u95", "elasticity", "elasticity_u95", "told_from_0")
    row: Row = {"pairs": int(both.sum()), **dict.fromkeys(names)}
    if not both.any():
        return row
    spread = spread_of(((high - low)[both] / (one.high - one.low)).tolist())
    row |= {"at_low": float(low[both].mean()), "at_high": float(high[both].mean()), "derivative": spread.mean}
    scale = one.value / at_config if at_config else None
    row["elasticity"] = None if scale is None else spread.mean * scale
    if spread.high is not None:
        u95 = spread.high - spread.mean
        row |= {"derivative_u95": u95, "told_from_0": abs(spread.mean) > u95}
        row["elasticity_u95"] = None if scale is None else u95 * abs(scale)
    return row


def _indices(study: Study, evaluate: Evaluations) -> list[Row]:
    """A row for each result and key: its Sobol' indices, first and total, with 95 % intervals by the bootstrap."""
    keys, n = len(study.parameters), study.options["samples"]
    unit = stats.qmc.Sobol(2 * keys, rng=study.base.seed).random(n)
    a, b = unit[:, :keys], unit[:, keys:]
    mixed = [np.where(np.arange(keys) == place, b, a) for place in range(keys)]  # one key of b, the others of a
    shares = np.concatenate([a, b, *mixed])
    points = [{one.key: one.at(share) for one, share in zip(study.parameters, row, strict=True)} for row in shares]
    found = evaluate([study.point(point) for point in points])
    table = []
    for name in study.results:
        wrong = [row for row in found if not row["accepted"] or row.get(name) is None]
        if wrong:
            why = f"{len(wrong)} of {len(found)} runs without an accepted result ({wrong[0]['reasons']})"
            allowed = "none: Sobol' indices need every run; narrow the ranges"
            raise ConfigError(study.base.name, [Problem(f"result {name}", why, allowed)], "sensitivity of config")
        values = np.array([row[name] for row in found], float).reshape(keys + 2, n)
        random = np.random.default_rng(study.base.seed)
        drawn = [_sobol(values[:, random.integers(n, size=n)]) for _ in range(_RESAMPLES)]
        ends = np.percentile(drawn, [50.0 * (1.0 - LEVEL), 50.0 * (1.0 + LEVEL)], axis=0)
        indices = _sobol(values)
        for place, one in enumerate(study.parameters):
            row = {"result": name, "key": one.key, "value": one.value, "low": one.low, "high": one.high}
            for kind, order in enumerate(("first", "total")):
                of_key = (indices[kind, place], *ends[:, kind, place])
                row |= dict(zip((order, f"{order}_low", f"{order}_high"), map(float, of_key), strict=True))
            table.append(row)
    return table


def _sobol(values: FloatArray) -> FloatArray:
    """First and total indices, (2, keys), of values (keys + 2, n) at a, at b, and at a with one key of b."""
    found = stats.sobol_indices(func={"f_A": values[0], "f_B": values[1], "f_AB": values[2:, None]}, n=values.shape[1])
    return np.stack([np.atleast_1d(found.first_order), np.atleast_1d(found.total_order)])


def draw_sensitivity(found: Mapping[str, Any], form: FigureForm, run: str = "") -> Figure:
    """Bars of the keys, the longest first, a panel for each result.

    Derivatives: the result at either end of a key's step, off that at the config [%]. Sobol' indices: first and total.

    Args:
        found: as `run_sensitivity` gives it.
        form: of the figure.
        run: name of its folder; empty: it is not saved.
    """
    rows = found["sensitivities"]
    results = list(dict.fromkeys(row["result"] for row in rows))
    height_in = 1.2 + 0.8 * len(results) + 0.5 * len(rows)
    figure = new_figure(form, (10.0, height_in), (15.0 * height_in, 15.0 * height_in))
    for axes, name in zip(figure.subplots(len(results), squeeze=False)[:, 0], results, strict=True):
        bars = sorted((row for row in rows if row["result"] == name), key=lambda row: np.ptp([0.0, *_bars(row)]))
        along = "Sobol' index, with its 95 % interval" if "first" in rows[0] else "off the result at the config [%]"
        dress_panel(axes, form, name, "", along)
        axes.set_axisbelow(True)
        axes.set_yticks(range(len(bars)), [f"{row['key']}\n{row['low']:.4g} to {row['high']:.4g}" for row in bars])
        for place, row in enumerate(bars):
            _draw_bars(axes, form, place, row)
    share_legend(figure, form, *figure.axes)
    facts = {"seed": str(found["seed"]), "config": found["config"], "rig": "simulated"}
    set_frame(figure, form, f"{found['config']}: sensitivity of {', '.join(results)}", source_line(facts, run))
    return figure


def _bars(row: Row) -> tuple[float, float]:
    """Lengths of the two bars of a key."""
    if "first" in row:
        return row["first"], row["total"]
    if row["at_low"] is None or not row["at_config"]:
        return 0.0, 0.0
    return 100.0 * (row["at_low"] / row["at_config"] - 1.0), 100.0 * (row["at_high"] / row["at_config"] - 1.0)


def _draw_bars(axes: Axes, form: FigureForm, place: int, row: Row) -> None:
    sobol = "first" in row
    names = ("first order: by itself", "total: with the other keys") if sobol else ("key lower", "key higher")
    for side, (length, name, colour) in enumerate(zip(_bars(row), names, COLOURS, strict=False)):
        style: dict[str, Any] = {"color": colour, "label": name}
        if sobol:
            order = ("first", "total")[side]
            style["xerr"] = [[max(length - row[f"{order}_low"], 0.0)], [max(row[f"{order}_high"] - length, 0.0)]]
        elif row["told_from_0"] is False:
            style["alpha"] = 0.3
        axes.barh(place + (0.2 - 0.4 * side if sobol else 0.0), length, 0.4 if sobol else 0.6, **style)
    if not sobol and row["told_from_0"] is not True:
        words = "one seed: scatter not known" if row["told_from_0"] is None else "not told from 0"
        axes.annotate(words, (0.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=form.font(8.5))
