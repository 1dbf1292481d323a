"""The best values of a config's keys for a result (an application of Petersen 2012, 1.4).

Differential evolution (Storn and Price 1997), whose generations run at once, finds the region; the simplex of Nelder
and Mead, which Petersen 2012, 6.2 identifies the soil with, goes on from its best. All runs of the search have the seed
of the config, so that the result is one function of the values. In the end the best is run with other seeds, and its
neighbours are, so that it shows how flat the result is there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import optimize

from hil.analysis.listed_runs import FilterError, RunFilter
from hil.analysis.statistics import FloatArray, spread_of
from hil.campaign.evaluations import Evaluations, Row, Study, StudyExecution, evaluations, make_study
from hil.config import Config, Problem
from hil.config.files import write_whole

OPTIMUM = "optimum.json"
# Members of a generation for each key, and the share of the evaluations that is left to the simplex.
_MEMBERS, _SIMPLEX = 8, 0.25
# Side of the first simplex, to which it shrinks, and the step to a neighbour of the best: shares of a range.
_SIDE, _END, _NEIGHBOUR = 0.05, 1e-4, 0.05


def optimisation_study(
    base: Config,
    over: Mapping[str, tuple[float, float]],
    least: str | None,
    most: str | None,
    *,
    where: str = "",
    budget: int = 200,
    repeats: int = 5,
    problems: Sequence[Problem] = (),
) -> Study:
    """A search for the best values within ranges.

    Args:
        base: the config.
        over: smallest and largest value by key.
        least: flat name of the result that is to be small, or else
        most: of the one that is to be large.
        where: condition that a run must fulfil, as `RunFilter` takes it; empty: none but that it is accepted.
        budget: evaluations of the search, at most.
        repeats: seeds that the best is run with.
        problems: that are known already.

    Raises:
        ConfigError: with all problems at once.
    """
    problems, names = [*problems], tuple[str, ...]()
    if (least is None) == (most is None):
        problems.append(Problem("result", "both or none", "one of least and most"))
    if not over and not problems:
        problems.append(Problem("keys", "none", "a key and its range, once or more"))
    try:
        names = RunFilter(where).names if where else ()
    except FilterError as error:
        problems.append(Problem("where", repr(where), str(error)))
    if budget < (fewest := 3 * _MEMBERS * max(len(over), 1)):
        problems.append(Problem("evaluations", str(budget), f"at least {fewest}, {3 * _MEMBERS} for each key"))
    options = {"wanted": "most" if least is None else "least", "where": where, "budget": budget, "repeats": repeats}
    return make_study(base, over, [name for name in (least, most) if name], options, problems, names)


def run_optimisation(study: Study, execution: StudyExecution) -> dict[str, Any]:
    """Search, and leave evaluations.csv and optimum.json in the folder.

    Returns:
        What optimum.json holds; `best` is null if no run was accepted and fulfilled the condition.

    Raises:
        StudyStoppedError: it was stopped.
        ConfigError: the result is no number in a run of the config.
        FilterError: the condition cannot be evaluated.
        FolderError, WorkersError, OSError: as `evaluations`.
    """
    options = study.options
    most = options["budget"] + options["repeats"] + 2 * len(study.parameters)
    with evaluations(study, execution, most) as evaluate:
        search = _Search(study, evaluate)
        best, ended = search.run()
        head = {"config": study.base.name, "seed": study.base.seed, **study.head(), "result": study.results[0]}
        found = {**head, **options, "at_config": search.at_config, "ended": ended, "best": None}
        if search.fits(best):
            found |= {"best": search.values(best), "value": search.value(best), **search.around(best)}
        outside = sum(bool(row["accepted"]) and not search.fits(row) for row in evaluate.rows)
        found |= {**evaluate.counted(), "condition_not_met": outside}
        write_whole(execution.folder / OPTIMUM, json.dumps(found, indent=1, allow_nan=False) + "\n")
    return found


class _Search:
    """Of the least cost over the unit cube, whose sides are the ranges of the keys."""

    def __init__(self, study: Study, evaluate: Evaluations) -> None:
        self._study, self._evaluate = study, evaluate
        self._sign = 1.0 if study.options["wanted"] == "least" else -1.0
        self._where = RunFilter(study.options["where"]) if study.options["where"] else None
        row = evaluate.of_config()
        self.at_config = self.value(row) if self.fits(row) else None

    def value(self, row: Row) -> float:
        """The result of a run."""
        return float(row[self._study.results[0]])

    def fits(self, row: Row) -> bool:
        """Whether a run counts: it is accepted, has the result, and fulfils the condition."""
        has = row["accepted"] and row.get(self._study.results[0]) is not None
        return bool(has) and (self._where is None or self._where(row))

    def values(self, row: Row) -> dict[str, float]:
        """The values of the keys."""
        return {one.key: row[one.key] for one in self._study.parameters}

    def run(self) -> tuple[Row, str]:
        """The row of the best, and why the search ended."""
        keys, budget = len(self._study.parameters), self._study.options["budget"]
        generations = int((1.0 - _SIMPLEX) * budget) // (_MEMBERS * keys)
        costs: Any = self._costs  # of many points at once, which scipy's types do not know
        cube = optimize.Bounds([0.0] * keys, [1.0] * keys)
        evolved = optimize.differential_evolution(
            costs, cube, maxiter=generations - 1, popsize=_MEMBERS, tol=_END, polish=False,
            rng=self._study.base.seed, updating="deferred", vectorized=True,
        )  # fmt: skip
        if not math.isfinite(evolved.fun):
            return self._rows(evolved.x[:, None])[0], "no run fulfils what is asked"
        x = np.asarray(evolved.x)
        corners = x + np.where(x + _SIDE > 1.0, -_SIDE, _SIDE) * np.eye(keys)
        left = max(budget - len(self._evaluate), 1)
        simplex: Any = {"method": "Nelder-Mead", "bounds": cube, "options": {"initial_simplex": [x, *corners]}}
        simplex["options"] |= {"maxfev": left, "xatol": _END, "fatol": math.inf}
        refined = optimize.minimize(self._cost, x, **simplex)
        best = refined if refined.fun < evolved.fun else evolved
        return self._rows(best.x[:, None])[0], "converged" if refined.success else "evaluations used up"

    def around(self, best: Row) -> dict[str, Any]:
        """How flat it is: the result with other seeds, and a step to either side of the best."""
        study, values = self._study, self.values(best)
        seeds = self._evaluate(study.point(values, seed) for seed in range(study.options["repeats"]))
        results = [self.value(row) for row in seeds if self.fits(row)]
        scatter = spread_of(results).standard_deviation
        steps = []
        for one in study.parameters:
            share = (values[one.key] - one.low) / (one.high - one.low)
            ends = [one.at(share - _NEIGHBOUR), one.at(share + _NEIGHBOUR)]
            rows = self._evaluate(study.point({**values, one.key: end}) for end in ends)
            others = [row if row[one.key] != values[one.key] else None for row in rows]  # none beyond the range
            low, high = (self.value(row) if row and self.fits(row) else None for row in others)
            off = [abs(self.value(row) - self.value(best)) if self.fits(row) else math.inf for row in others if row]
            flat = None if scatter is None else max(off, default=0.0) <= scatter
            at_end = not one.low < values[one.key] < one.high
            steps.append(
                {"key": one.key, "best": values[one.key], "low": one.low, "high": one.high, "below": ends[0]}
                | {"above": ends[1], "at_below": low, "at_above": high, "flat": flat, "at_end_of_range": at_end}
            )
        return {"seeds": len(seeds), "seeds_fit": len(results), "scatter": scatter, "around": steps}

    def _cost(self, x: FloatArray) -> float:
        return float(self._costs(x[:, None])[0])

    def _costs(self, x: FloatArray) -> FloatArray:
        """The cost at points (keys, points); infinite where a run does not count."""
        return np.array([self._sign * self.value(row) if self.fits(row) else math.inf for row in self._rows(x)])

    def _rows(self, x: FloatArray) -> list[Row]:
        study = self._study
        return self._evaluate(
            study.point({one.key: one.at(float(share)) for one, share in zip(study.parameters, point, strict=True)})
            for point in x.T
        )
