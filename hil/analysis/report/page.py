"""report.html: one file that needs no network. Whatever a person typed is escaped, and no script but ours runs."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hil.analysis.campaign import CSV, JSON, RecordedCampaign
from hil.analysis.report import answers
from hil.analysis.report.drawing import legend_below, marker_of, new_figure, say_nothing
from hil.analysis.report.force_figures import normalised
from hil.analysis.report.groups import ENERGIES, FORCE, FORCES, STRAIN, WITH, Group, Trial
from hil.analysis.report.trial_figures import Trace
from hil.analysis.ruts import RUT_COLUMNS, ruts_in_folder
from hil.analysis.statistics import RankCorrelation, paired
from hil.config import Config, ConfigError
from hil.experiments.drawing import COLOURS
from hil.messages.layout import INSTRUMENTS, SOIL_PARAMETERS
from hil.recording import RecordError
from hil.recording.child_reader import file_sha256
from hil.recording.run_folder import FolderError
from hil.version import running_version


class _SoilRow(NamedTuple):
    """A trial's estimate."""

    label: str  # of the trial
    values: tuple[str, ...]  # of each of `SOIL_PARAMETERS`, in words: value and 95 % interval


def soil_rows(trials: Sequence[Trial]) -> list[_SoilRow]:
    """One a trial whose soil was estimated."""
    rows = []
    for trial in trials:
        estimate = trial.summary.get("soil_estimate")
        if isinstance(estimate, Mapping) and isinstance(parameters := estimate.get("parameters"), Mapping):
            rows.append(_SoilRow(trial.label, tuple(_words(parameters.get(name)) for name in SOIL_PARAMETERS)))
    return rows


def _words(one: object) -> str:
    if not isinstance(one, Mapping):
        return "–"
    numbers = [one.get(key) for key in ("value", "low", "high")]
    if not all(isinstance(number, int | float) for number in numbers):
        return "–"
    value, low, high = (f"{number:.3g}" for number in numbers)
    return f"{value} ({low} to {high})" + ("" if one.get("observable") else ", not observable")


class _MobilityRow(NamedTuple):
    """The worst of each metric in a trial; None where there is none."""

    label: str  # of the trial
    share: float | None  # least share of the weight on a wheel [%]
    wheel: str  # which one that is
    stability_deg: float | None  # least margin to tipping over
    friction: float | None  # largest friction needed


def mobility_rows(trials: Sequence[Trial]) -> list[_MobilityRow]:
    """One a trial whose summary has the metrics (`hil.experiments.mobility`)."""
    rows = []
    for trial in trials:
        found = trial.summary.get("mobility")
        if not isinstance(found, Mapping):
            continue
        shares = found.get("load_share") or {}
        least = [(share, str(name)) for name in shares if (share := _of(shares, name, "least")) is not None]
        share, wheel = min(least, default=(None, "–"))
        rows.append(
            _MobilityRow(
                trial.label,
                None if share is None else 100.0 * share,
                wheel.replace("_", " "),
                _of(found, "stability_deg", "least"),
                _of(found, "friction_needed", "largest"),
            )
        )
    return rows


def _of(found: Mapping[str, object], name: str, which: str) -> float | None:
    one = found.get(name)
    value = one.get(which) if isinstance(one, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def rut_rows(trials: Sequence[Trial]) -> list[tuple[str, tuple[str, ...]]]:
    """Label and cells of each wheel's rut, of trials whose folder has the scan after them; or why there are none."""
    rows: list[tuple[str, tuple[str, ...]]] = []
    for trial in trials:
        if trial.folder is None:
            continue
        try:
            found = ruts_in_folder(trial.folder, unverified=True)  # the report has compared the digests
        except (ConfigError, RecordError, FolderError) as error:
            rows.append((trial.label, (str(error),)))
        else:
            rows += [(trial.label, rut.cells) for rut in found.wheels] if found else []
    return rows


ERRORS = {
    "speed_error_mps": ("speed", "mm/s", 1e3),
    "slip_error": ("slip", "%", 1e2),
    "load_error_N": ("load", "N", 1.0),
}
NEES = "nees"


class _MotionRow(NamedTuple):
    """A trial's instruments and estimates."""

    label: str  # of the trial
    # root mean square errors of speed, slip and load in the units of `ERRORS`; None: the truth is not known.
    errors: tuple[float | None, ...]
    nees: float | None  # mean of the squared errors over their variances; about 1 if the standard deviations are right
    # by role: readings used and rejected, mean innovation, and what became of it in words.
    sources: Mapping[str, Mapping[str, Any]]


def motion_rows(trials: Sequence[Trial]) -> list[_MotionRow]:
    """One a trial with instruments of motion."""
    rows = []
    for trial in trials:
        estimation = trial.summary.get("estimation")
        if not isinstance(estimation, Mapping):
            continue
        errors = tuple(_number(estimation.get(key), scale) for key, (_, _, scale) in ERRORS.items())
        sources = {role: _source(one) for role, one in (estimation.get("sources") or {}).items()}
        rows.append(_MotionRow(trial.label, errors, _number(estimation.get(NEES)), sources))
    return rows


def roles_of(rows: Sequence[_MotionRow]) -> list[str]:
    """The instruments that any of the trials has."""
    return [role for role in INSTRUMENTS if any(role in row.sources for row in rows)]


def _source(one: Mapping[str, Any]) -> dict[str, Any]:
    readings, used = one.get("readings") or 0, one.get("used") or 0
    ended = "left out" if one.get("left_out") else "stale" if one.get("stale") else "used"
    return {
        "used": 100.0 * used / readings if readings else None,
        "rejected": one.get("rejected"),
        "innovation": _number(one.get("innovation")),
        "ended": ended if readings else "no reading",
    }


def _number(value: Any, scale: float = 1.0) -> float | None:
    return scale * value if isinstance(value, int | float) and not isinstance(value, bool) else None


def motion_over_trials(rows: Sequence[_MotionRow]) -> Figure:
    """Errors of the estimates, and the mean innovation of each instrument, over the trials in their order."""
    figure = new_figure(2.9)
    left, right = figure.subplots(1, 2)
    at = np.arange(1, len(rows) + 1)
    style: dict[str, Any] = {"ms": 3.0, "lw": 0.8}
    for place, (name, unit, _) in enumerate(ERRORS.values()):
        values = _known([row.errors[place] for row in rows])
        if np.isfinite(values).any():
            label = f"{name} [{unit}]"
            left.plot(at, values, marker=marker_of(place), color=COLOURS[place], label=label, **style)
    if left.lines:
        left.set(yscale="log", xlabel="trial, in the order of the plan", ylabel="root mean square error")
    else:
        say_nothing(left, "the truth is not known")
    for place, role in enumerate(roles_of(rows)):
        values = _known([row.sources.get(role, {}).get("innovation") for row in rows])
        right.plot(at, values, marker=marker_of(place), color=COLOURS[place], label=f"{role}, innovation", **style)
    if right.lines:
        nees = _known([row.nees for row in rows])
        if np.isfinite(nees).any():
            right.plot(at, nees, marker=marker_of(4), color="black", label="errors over sd, squared", **style)
        right.axhline(1.0, color="#666666", lw=0.8)
        right.set(yscale="log", xlabel="trial, in the order of the plan", ylabel="mean; 1 if the sd are right")
    else:
        say_nothing(right, "no instrument of motion")
    handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    if handles:
        legend_below(figure, *handles)
    return figure


def _known(values: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
_DELAYS = {"cut_latency_ms": "stop command handed over", "cut_effective_ms": "drives cut, simulated rig"}
# Keys of campaign.json that the page shows.
_META = ("plan", "plan_sha256", "seed", "config", "config_sha256", "version", "processor")
_UPLOT = files("hil.operator") / "static" / "uplot"


@dataclass(frozen=True)
class Contents:
    """All that a page shows."""

    campaign: RecordedCampaign  # name, rows, meta
    trials: Sequence[Trial]  # in the order of the plan
    groups: Sequence[Group]  # trials that may be compared
    config: Config | None  # that the plan starts from; None where it is not one of this version
    traces: Mapping[str, Trace]  # by the trial's label
    images: Mapping[str, Sequence[str]]  # figures as SVG, by name, one or more of each
    work_us: NDArray[np.float64]  # of every tick of every trial
    times: Sequence[str]  # `wall_time` of the records
    wrong: Sequence[str]  # why the files are not to be trusted


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
    against, planned = answers.reasons_against(campaign, trials), campaign.meta.get("planned")
    made = len({trial.row.get("number") for trial in trials})
    return environment.get_template("report.html").render(
        contents=contents,
        campaign=campaign,
        meta=dict.fromkeys(_META, "–") | campaign.meta,
        csv_sha256=file_sha256(campaign.folder / CSV),
        json_sha256=file_sha256(campaign.folder / JSON),
        version=running_version(),
        opening=answers.opening(campaign, trials, contents.config.rig if contents.config else None, contents.times),
        kept=answers.kept_sentence(trials),
        release=answers.release_sentence(trials),
        against=against,
        twice=sum(len(why.trials) for why in against) > sum(not trial.kept for trial in trials),
        spreads={group.label: answers.spread_sentence(group) for group in contents.groups},
        force=FORCE,
        forces=_forces(contents.trials),
        energies=ENERGIES,
        angles={group.label: _angles(group) for group in contents.groups},
        trends={
            group.label: [
                {"energy": ENERGIES[key], "trend": group.trend(key), "sentence": answers.trend_sentence(group, key)}
                for key in (group.fitting, group.other)
            ]
            for group in contents.groups
        },
        offsets={group.label: fit for group in contents.groups if (fit := normalised(group.kept))},
        firm=any(group.fitting == WITH for group in contents.groups),
        unfinished=max(planned - made, 0) if isinstance(planned, int) else 0,
        rows=_rows(contents),
        rules=_rules(contents.trials),
        motion=(measured := motion_rows(trials)),
        motion_roles=roles_of(measured),
        soil=soil_rows(trials),
        mobility=mobility_rows(trials),
        ruts=rut_rows(trials),
        rut_columns=RUT_COLUMNS,
        motion_errors=[f"{name} [{unit}]" for name, unit, _ in ERRORS.values()],
        delays={
            words: _quantiles(np.array([value for (value,) in paired([trial.summary for trial in trials], key)]))
            for key, words in _DELAYS.items()
        },
        work=_quantiles(contents.work_us),
        shares=list(_SHARES),
        loops=_loops(contents.trials),
        scripts=[Markup(script) for script in scripts],  # ours: no word of a campaign is in them
        styles=[Markup(style) for style in styles],
        script_hashes=" ".join(f"'sha256-{_base64(hashlib.sha256(script.encode()).digest())}'" for script in scripts),
    )  # fmt: skip


def _forces(trials: Sequence[Trial]) -> dict[str, str]:
    """Forces of the tables, by their keys."""
    return FORCES | {key: words for key, words in STRAIN.items() if any(key in trial.row for trial in trials)}


def _text(folder: Any, name: str) -> str:
    text: str = folder.joinpath(name).read_text(encoding="utf-8")
    return text.strip()


def _image(svg: str) -> str:
    """Address of a picture that is in the page itself."""
    return f"data:image/svg+xml;base64,{_base64(svg.encode())}"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


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


def _rows(contents: Contents) -> list[tuple[Trial, list[str], float | None]]:
    """Every trial with the reasons against it, and its force over the mean of its angle, less 1; None: not kept."""
    means = {trial.label: group.over_angle(FORCE) for group in contents.groups for trial in group.trials if trial.kept}
    rows = []
    for trial in contents.trials:
        reasons = [reason for reason in str(trial.row.get("reasons") or "").split("; ") if reason]
        reasons += [answers.REJECTED] * trial.rejected
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


def _quantiles(values: NDArray[np.float64]) -> dict[str, Any]:
    quantiles = {name: float(np.quantile(values, share)) if values.size else None for name, share in _SHARES.items()}
    return {"n": values.size, **quantiles}


def _loops(trials: Sequence[Trial]) -> dict[str, Any]:
    """Ticks, late and skipped over all trials, and the clocks they ran by."""
    loops = [trial.summary.get("loop") or {} for trial in trials if trial.summary]
    clocks = sorted({str(trial.summary.get("clock")) for trial in trials if trial.summary})
    total = {key: sum(loop.get(key) or 0 for loop in loops) for key in ("ticks", "late", "skipped")}
    return {"clocks": ", ".join(clocks), **total}
