"""report.html: one file that needs no network. Whatever a person typed is escaped, and no script but ours runs."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from hil.analysis.campaign import CSV, JSON, RecordedCampaign
from hil.analysis.report import answers
from hil.analysis.report.groups import ENERGIES, FORCE, FORCES, STRAIN, WITH, Group
from hil.analysis.report.grousers import normalised
from hil.analysis.report.mobility import mobility_rows
from hil.analysis.report.motion import ERRORS, motion_rows, roles_of
from hil.analysis.report.soil import soil_rows
from hil.analysis.report.traces import Trace
from hil.analysis.report.trials import Trial
from hil.analysis.statistics import RankCorrelation, paired
from hil.config import Config
from hil.recording.digests import file_sha256
from hil.version import running_version

_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
_DELAYS = {"cut_latency_ms": "stop command handed over", "cut_effective_ms": "drives cut, simulated rig"}
# Keys of campaign.json that the page shows.
_META = ("plan", "plan_sha256", "seed", "config", "config_sha256", "version", "processor")
_UPLOT = files("hil.operator") / "static" / "uplot"


@dataclass(frozen=True)
class Contents:
    """All that a page shows.

    Attributes:
        campaign: name, rows, meta.
        trials: in the order of the plan.
        groups: trials that may be compared.
        config: that the plan starts from; None where it is not one of this version.
        traces: by the trial's label.
        images: figures as SVG, by name, one or more of each.
        work_us: of every tick of every trial.
        times: `wall_time` of the records.
        wrong: why the files are not to be trusted.
    """

    campaign: RecordedCampaign
    trials: Sequence[Trial]
    groups: Sequence[Group]
    config: Config | None
    traces: Mapping[str, Trace]
    images: Mapping[str, Sequence[str]]
    work_us: NDArray[np.float64]
    times: Sequence[str]
    wrong: Sequence[str]


def render(contents: Contents) -> str:
    """The page as text; the same contents give the same text."""
    environment = Environment(
        loader=PackageLoader("hil.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"digits": _digits, "p": _p, "image": _image}
    environment.globals["outlier"] = answers.outlier_words
    scripts = [_text(_UPLOT, "uPlot.iife.min.js"), environment.get_template("report.js").render()]
    styles = [_text(_UPLOT, "uPlot.min.css"), environment.get_template("report.css").render()]
    campaign, trials = contents.campaign, contents.trials
    against = answers.reasons_against(campaign, trials)
    return environment.get_template("report.html").render(
        contents=contents,
        campaign=campaign,
        meta=dict.fromkeys(_META, "–") | campaign.meta,
        csv_sha256=file_sha256(campaign.folder / CSV),
        json_sha256=file_sha256(campaign.folder / JSON),
        version=running_version(),
        opening=answers.opening(campaign, trials, contents.config, contents.times),
        kept=answers.kept_sentence(trials),
        against=against,
        twice=sum(len(why.trials) for why in against) > sum(not trial.kept for trial in trials),
        spreads={group.label: answers.spread_sentence(group) for group in contents.groups},
        force=FORCE,
        forces=_forces(contents.trials),
        energies=ENERGIES,
        angles={group.label: _angles(group) for group in contents.groups},
        trends={group.label: [_trend(group, key) for key in (group.fitting, group.other)]
                for group in contents.groups},
        offsets={group.label: fit for group in contents.groups if (fit := normalised(group.kept))},
        firm=any(group.fitting == WITH for group in contents.groups),
        unfinished=_unfinished(contents),
        rows=_rows(contents),
        rules=_rules(contents.trials),
        motion=(measured := motion_rows(trials)),
        motion_roles=roles_of(measured),
        soil=soil_rows(trials),
        mobility=mobility_rows(trials),
        motion_errors=[f"{name} [{unit}]" for name, unit, _ in ERRORS.values()],
        delays={words: _quantiles(_delays(contents.trials, key)) for key, words in _DELAYS.items()},
        work=_quantiles(contents.work_us),
        shares=list(_SHARES),
        loops=_loops(contents.trials),
        scripts=[Markup(script) for script in scripts],  # ours: no word of a campaign is in them
        styles=[Markup(style) for style in styles],
        script_hashes=" ".join(f"'sha256-{_hash(script)}'" for script in scripts),
    )  # fmt: skip


def _forces(trials: Sequence[Trial]) -> dict[str, str]:
    """Forces of the tables, by their keys."""
    return FORCES | {key: words for key, words in STRAIN.items() if any(key in trial.row for trial in trials)}


def _unfinished(contents: Contents) -> int:
    """How many trials of the plan have not been made yet."""
    planned = contents.campaign.meta.get("planned")
    made = len({trial.row.get("number") for trial in contents.trials})
    return max(planned - made, 0) if isinstance(planned, int) else 0


def _text(folder: Any, name: str) -> str:
    text: str = folder.joinpath(name).read_text(encoding="utf-8")
    return text.strip()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _image(svg: str) -> str:
    """Address of a picture that is in the page itself."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _digits(value: Any, digits: int = 1) -> str:
    """A number, a dash where there is none."""
    return "–" if value is None or isinstance(value, str | bool) else f"{value:.{digits}f}"


def _p(found: RankCorrelation | None) -> str:
    if found is None:
        return "not defined: too few, or all alike"
    return f"{found.rho:+.2f} ({answers.p_words(found.p)}, n = {found.n})"


def _angles(group: Group) -> list[dict[str, Any]]:
    """A row of the table of a group for each angle."""
    spreads = {key: group.over_angle(key) for key in (*FORCES, *STRAIN, *ENERGIES)}
    made = Counter(trial.row.get("angle_deg") for trial in group.trials)
    kept = Counter(row.get("angle_deg") for row in group.kept)
    return [
        {"angle": angle, "made": made[angle], "dropped": made[angle] - kept[angle]}
        | {key: of_key.get(angle) for key, of_key in spreads.items()}
        for angle in sorted(angle for angle in made if angle is not None)
    ]


def _trend(group: Group, key: str) -> dict[str, Any]:
    trend, sentence = group.trend(key), answers.trend_sentence(group, key)
    return {"energy": ENERGIES[key], "trend": trend, "sentence": sentence}


def _rows(contents: Contents) -> list[tuple[Trial, list[str], float | None]]:
    """Every trial with the reasons against it, and its force over the mean of its angle, less 1; None: not kept."""
    means = {trial.label: group.over_angle(FORCE) for group in contents.groups for trial in group.trials if trial.kept}
    rows = []
    for trial in contents.trials:
        reasons = [reason for reason in str(trial.row.get("reasons") or "").split("; ") if reason]
        pairs = paired([trial.row] if trial.kept else [], "angle_deg", FORCE)
        share = next((force / means[trial.label][angle].mean - 1.0 for angle, force in pairs), None)
        rows.append((trial, reasons, share))
    return rows


def _rules(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """How often each quality rule was broken; none where summaries do not list them."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for trial in trials:
        for rule in trial.summary.get("quality") or ():
            if isinstance(rule, Mapping):
                by_name.setdefault(str(rule.get("rule")), []).append(rule)
    return [
        {"rule": name, "judged": len(rules), "broken": sum(rule.get("ok") is False for rule in rules)}
        for name, rules in by_name.items()
    ]


def _delays(trials: Sequence[Trial], key: str) -> NDArray[np.float64]:
    return np.array([value for (value,) in paired([trial.summary for trial in trials], key)])


def _quantiles(values: NDArray[np.float64]) -> dict[str, Any]:
    quantiles = {name: float(np.quantile(values, share)) if values.size else None for name, share in _SHARES.items()}
    return {"n": values.size, **quantiles}


def _loops(trials: Sequence[Trial]) -> dict[str, Any]:
    """Ticks, late and skipped over all trials, and the clocks they ran by."""
    loops = [trial.summary.get("loop") or {} for trial in trials if trial.summary]
    clocks = sorted({str(trial.summary.get("clock")) for trial in trials if trial.summary})
    total = {key: sum(loop.get(key) or 0 for loop in loops) for key in ("ticks", "late", "skipped")}
    return {"clocks": ", ".join(clocks), **total}
