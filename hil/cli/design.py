"""`hil sensitivity` and `hil optimise`: how results depend on keys of a config, and which values are the best."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hil.cli.run_options import INTERRUPTED, BatchOptions, running, with_groups
from hil.cli.terminal import FAULT, complain, show, usage_errors, write_folded

if TYPE_CHECKING:
    from hil.campaign.evaluations import Study, StudyExecution
    from hil.config import Config, Problem

Repeats = Annotated[int, typer.Option("--repeats", metavar="N", help="Seeds, from that of the config on.")]
Value = TypeVar("Value")


@with_groups
def sensitivity(
    options: BatchOptions,
    result: Annotated[list[str], typer.Option("--result", metavar="NAME", help="Number of the summary; repeatable.")],
    of: Annotated[
        list[str] | None, typer.Option("--of", metavar="KEY[=STEP]", help="Key, and its step; repeatable.")
    ] = None,
    share: Annotated[
        float, typer.Option("--share", metavar="X", help="Step where none is given, of the value.")
    ] = 0.05,
    repeats: Repeats = 5,
    ranges: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="KEY=LOW:HIGH", help="In place of --of: Sobol' indices over ranges."),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", metavar="N", help="Of Sobol' indices: N (keys + 2) runs.")] = 64,
) -> None:
    """Show how results depend on keys of a config: derivatives with their scatter, or Sobol' indices."""
    from hil.campaign.sensitivity import run_sensitivity, sensitivity_study

    with usage_errors():
        steps, wrong = _by_key(of, "--of", lambda text: float(text) if text else None)
        over, problems = _by_key(ranges, "--range", _range)
        study = sensitivity_study(
            _base(options), result, steps, over, share=share, repeats=repeats, samples=samples,
            problems=[*wrong, *problems],
        )  # fmt: skip
    found = _made(options, "sensitivity", study, run_sensitivity)
    if options.as_json:
        return
    for name in study.results:
        rows = [row for row in found["sensitivities"] if row["result"] == name]
        if "first" in rows[0]:
            lines = [[row["key"], _span(row), _interval(row, "first"), _interval(row, "total")] for row in rows]
            _table(name, ("key", "range", "first index", "total index"), lines)
            continue
        names = ("derivative", "elasticity")
        lines = [[row["key"], _span(row), *(_half(row, name) for name in names), _remark(row)] for row in rows]
        _table(f"{name}: {_number(rows[0]['at_config'])} at the config", ("key", "from, to", *names, ""), lines)


@with_groups
def optimise(
    options: BatchOptions,
    over: Annotated[list[str], typer.Option("--over", metavar="KEY=LOW:HIGH", help="Key and range; repeatable.")],
    least: Annotated[str | None, typer.Option("--least", metavar="RESULT", help="Make this small, or")] = None,
    most: Annotated[str | None, typer.Option("--most", metavar="RESULT", help="make this large.")] = None,
    where: Annotated[str, typer.Option("--where", metavar="CONDITION", help="Of runs: 'peak_force_N < 300'.")] = "",
    budget: Annotated[int, typer.Option("--evaluations", metavar="N", help="Runs of the search, at most.")] = 200,
    repeats: Repeats = 5,
) -> None:
    """Search for the values of keys that make a result least, or most; a run that is not accepted does not count."""
    from hil.campaign.optimisation import optimisation_study, run_optimisation

    with usage_errors():
        ranges, problems = _by_key(over, "--over", _range)
        study = optimisation_study(
            _base(options), ranges, least, most, where=where, budget=budget, repeats=repeats, problems=problems
        )
    found = _made(options, "optimum", study, run_optimisation)
    if not options.as_json and found["best"] is not None:
        lines = []
        for row in found["around"]:
            there = {None: "not known", True: "flat: within the scatter", False: "not flat"}[row["flat"]]
            there += "; at the end of its range" if row["at_end_of_range"] else ""
            around = f"{_number(row['at_below'])}, {_number(row['at_above'])}"
            lines.append([row["key"], _number(row["best"]), _span(row), around, there])
        value, at_config = _number(found["value"]), _number(found["at_config"])
        title = f"{found['wanted']} {study.results[0]}: {value}; at the config {at_config}"
        _table(title, ("key", "best", "range", "5 % of it lower, higher", "there"), lines)
        seeds = f"{found['seeds_fit']} of {found['seeds']} seeds count"
        write_folded(f"{found['ended']}; scatter at the best over seeds {_number(found['scatter'])}, {seeds}")
    if found["best"] is None:
        complain(f"no best: {found['ended']}")
        raise typer.Exit(FAULT)


def _base(options: BatchOptions) -> Config:
    """The config as it is, whose runs publish no telemetry."""
    from hil.config import load_config

    return load_config(options.config, [*(options.overrides or ()), 'telemetry.endpoint=""'], options.seed)


def _made(
    options: BatchOptions, what: str, study: Study, run: Callable[[Study, StudyExecution], dict[str, Any]]
) -> dict[str, Any]:
    """What a study found; how many runs it made, and where they are, is said."""
    from hil.analysis.listed_runs import FilterError
    from hil.campaign.evaluations import StudyExecution, StudyStoppedError
    from hil.campaign.sweep import UNFINISHED

    with usage_errors():
        options.check_place(study.base.clock, study.base.name)
        folder = options.folder(study.base.name, what, UNFINISHED)
    with usage_errors(FilterError), running("runs", folder) as (report, stop):
        place = options.place(study.extremes(), report)
        try:
            found = run(study, StudyExecution(folder, place, report, stop.now, options.resume))
        except StudyStoppedError:
            raise typer.Exit(INTERRUPTED) from None
    if options.as_json:
        print(json.dumps({"folder": str(folder), **found}))
        return found
    outside = f", {found['condition_not_met']} outside the condition" if found.get("condition_not_met") else ""
    write_folded(f"{found['evaluations']} runs: {found['not_accepted']} not accepted{outside}")
    for reason, count in found["reasons"].items():
        write_folded(f"not accepted, {count}: {reason}")
    write_folded(f"folder: {folder}")
    return found


def _by_key(
    texts: Sequence[str] | None, option: str, value: Callable[[str], Value]
) -> tuple[dict[str, Value], list[Problem]]:
    """Values by key, and what is wrong with the others."""
    from hil.config import Problem

    found, problems = dict[str, Value](), list[Problem]()
    for text in texts or ():
        key, _, given = text.partition("=")
        try:
            if key in found:
                raise ValueError
            found[key] = value(given)
        except ValueError:
            allowed = "KEY or KEY=STEP" if option == "--of" else "KEY=LOW:HIGH"
            problems.append(Problem(f"{option} {text}", "no key with numbers, or a key twice", allowed))
    return found, problems


def _range(text: str) -> tuple[float, float]:
    low, high = text.split(":")
    return float(low), float(high)


def _table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    from hil.experiments.summary_table import columns_table

    show(columns_table(heads, lines, words=1, title=title, title_justify="left"))


def _span(row: Mapping[str, Any]) -> str:
    return f"{_number(row['low'])} to {_number(row['high'])}"


def _interval(row: Mapping[str, Any], name: str) -> str:
    return f"{row[name]:.3f} ({row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f})"


def _half(row: Mapping[str, Any], name: str) -> str:
    """A mean, and half of its interval."""
    half = row[f"{name}_u95"]
    return _number(row[name]) + ("" if half is None else f" ± {half:.2g}")


def _remark(row: Mapping[str, Any]) -> str:
    """What is to be said of a derivative."""
    if not row["pairs"]:
        return "no accepted runs"
    return {None: "scatter not known", False: "not told from 0", True: ""}[row["told_from_0"]]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
