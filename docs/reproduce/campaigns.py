"""The thesis's 51 trials with what went wrong in them, and what cutting by the sensors buys in repeatability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from trials import Row, new_figure, parameters, save

from hil.app.run import run
from hil.campaign.expand import expand
from hil.campaign.plan import load_plan
from hil.campaign.trial import Job, Result, kinds_of
from hil.campaign.workers import process_pool, run_jobs
from hil.config import Config, load_config
from hil.experiments.impact.experiment import State

QUIET = "telemetry.endpoint=''"
RELEASES = ("automatic", "operator", "timed")


def summaries(configs: Sequence[Config]) -> list[Mapping[str, Any]]:
    """The summaries of many trials, made in two processes."""
    found: dict[int, Mapping[str, Any]] = {}
    jobs = ((number, Job(config.model_dump_json(), "summary")) for number, config in enumerate(configs))

    def take(number: int, result: Result) -> None:
        found[number] = result.summary

    run_jobs(partial(process_pool, 2, kinds_of(list(configs)), print), jobs, take, lambda: False)
    return [found[number] for number in range(len(configs))]


def laboratory() -> list[Row]:
    """6.2.5, 6.2.6, fig. 6-11: the plan of the thesis on a rig where trials go wrong."""
    given = parameters()["laboratory"]
    sets = [QUIET, *(f"{key}={value}" for key, value in given["set"].items())]
    planned = expand(load_plan(given["plan"]), parameters()["config"], sets)
    attempts = [trial.attempt(1) for trial in planned]
    found = summaries([config for _, config in attempts])
    figure, panels = new_figure(2)
    rows = []
    for axes, (ground, name, printed) in zip(
        panels, (("firm", "hard", (27, 17)), ("soil", "soft", (24, 15))), strict=True
    ):
        mine = [one for (_, config), one in zip(attempts, found, strict=True) if config.ground.kind == ground]
        kept = [one for one in mine if one["accepted"]]
        spreads, means, at = [], [], sorted({one["angle_deg"] for one in kept})
        for angle in at:
            forces = np.array([one["sum_of_peaks_N"] for one in kept if one["angle_deg"] == angle])
            means.append(forces.mean())
            spreads.append(np.abs(forces - forces.mean()).mean())
        axes.errorbar(at, means, spreads, fmt="o", capsize=3, label="kept: mean, mean absolute deviation")
        dropped = [one for one in mine if not one["accepted"] and one["sum_of_peaks_N"] is not None]
        axes.plot(
            [one["angle_deg"] for one in dropped], [one["sum_of_peaks_N"] for one in dropped], "x", label="dropped"
        )
        axes.set(xlabel="angle [deg]", ylabel="sum of the sensors' peaks, one wheel [N]", ylim=(0, None), title=name)
        axes.legend()
        rules = [row["rule"] for one in mine for row in one["quality"] if row["ok"] is False]
        why = ", ".join(f"{rule} {rules.count(rule)}" for rule in sorted(set(rules))) or "none"
        share = 100.0 * float(np.mean(np.array(spreads) / np.array(means)))
        rows.append(
            Row(
                f"6-11, {name} soil",
                f"{printed[0]} trials, {printed[1]} kept; mean absolute deviation about 10 %; 150-200 N typical",
                f"{len(mine)} trials, {len(kept)} kept; {share:.0f} %; means {min(means):.0f}-{max(means):.0f} N",
                f"{len(kept) - printed[1]:+d} kept, {share - 10:+.0f} points of spread",
                f"dropped by: {why}; sizes of what went wrong are assumptions",
            )
        )
    save(figure, "laboratory")
    return rows


def releases() -> list[Row]:
    """What the link from sensors to drives buys over an operator's hand (6.2.5) and a timed power (D.2)."""
    given = parameters()["release"]
    spread = [f"{key}={value}" for key, value in given["spread"].items()]
    sets = [QUIET, f"trial.angle_deg={given['angle_deg']}", "quality.cut_ms=1000", *spread]
    timed = f"trial.drive_time_s={_time_to_impact(sets):.3f}"
    seeds = range(1, given["trials"] + 1)
    figure, (axes,) = new_figure(1)
    texts, all_forces = [], {}
    for release in RELEASES:
        extra = [*sets, f"trial.release={release}", *([timed] if release == "timed" else [])]
        found = summaries([load_config(parameters()["config"], extra, seed) for seed in seeds])
        force = np.array([one["contact_force_peak_N"] or 0.0 for one in found])
        hits = force[force > 0.0]
        low, high = _relative_spread(hits)
        texts.append(
            f"{release} {hits.mean():.0f} N, {100 * hits.std(ddof=1) / hits.mean():.1f} % "
            f"({100 * low:.1f}-{100 * high:.1f})"
            + (f", {len(force) - len(hits)} without impact" * (len(force) > len(hits)))
        )
        all_forces[release] = hits
    axes.boxplot([all_forces[name] for name in RELEASES], tick_labels=list(RELEASES), whis=(5, 95))
    axes.set(
        ylabel="peak contact force, both wheels [N]", ylim=(0, None), title=f"{given['trials']} trials each, 60 degrees"
    )
    save(figure, "releases")
    ratio = _spread(all_forces["operator"]) / _spread(all_forces["automatic"])
    return [
        Row(
            "beyond",
            "operator error in releasing the joystick changed the energy (6.2.5); timed power added consistency (D.2)",
            "; ".join(texts),
            f"standard deviation by hand {ratio:.1f} times that of the automatic cut",
            "standard deviation over mean with its 95 % interval; start placed to 5 mm, reaction 0.25 +- 0.05 s",
        )
    ]


def _time_to_impact(sets: Sequence[str]) -> float:
    """From the start of the run-up to the impact of the nominal rig [s]."""
    none = ("mass", "soil", "legs", "sensitivity", "start_m")
    done = run(load_config(parameters()["config"], [*sets, *(f"plant.spread.{name}=0" for name in none)]))
    began = done.ticks["t_ns"][done.ticks["state"] == State.RUN_UP][0]
    return float(done.summary["impact_time_s"]) - float(began) * 1e-9


def _spread(values: np.ndarray) -> float:
    return float(values.std(ddof=1))


def _relative_spread(values: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of standard deviation over mean, by chi-square."""
    n, relative = len(values), _spread(values) / values.mean()
    high, low = (float(np.sqrt((n - 1) / stats.chi2.ppf(p, n - 1))) for p in (0.025, 0.975))
    return relative * low, relative * high


def rows() -> list[Row]:
    """Lines of the page."""
    return [*laboratory(), *releases()]
