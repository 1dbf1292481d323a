"""How the numbers of a summary are shown in the terminal, with the claims they are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.markup import escape
from rich.table import Table

from hil.config.operator_settings import unit_of
from hil.processes.disturbances import INTERRUPTED, LONG, RIG_LATE, STALL, Events, named, words_of
from hil.realtime.clock import Stall, merged

# The summary's key, and how each reason that follows from it begins.
TRUTH_CHECK, FALSE = "truth_check", "not so by the "
SIMULATED, MEASURED, ALONE = "simulated rig", "measured motion", "twin alone"


class Claim(NamedTuple):
    """One value that a run gives."""

    name: str  #: of it, in words
    unit: str  #: of all numbers
    claimed: float  #: by the run
    known: float  #: otherwise; NaN: not known
    allowed: float  #: largest difference between the two

    @property
    def ok(self) -> bool | None:
        """None: one of them is not known."""
        off = abs(self.claimed - self.known)
        return None if math.isnan(off) else off <= self.allowed

    def words(self, by: str) -> str:
        """Why a run with it is not accepted."""
        values = f"{self.name} {self.claimed:.4g} {self.unit}".rstrip() + f", there {self.known:.4g}"
        return f"{FALSE}{by}: {values}; allowed: {self.allowed:.2g} apart, by what the twin is not told"


# The summary lists the longest disturbances; all are in the record.
LISTED = 50


def machine_summary(events: Events) -> dict[str, Any]:
    """Key `machine` of a summary: stalls in order of time; simultaneous stalls of several processors count as one."""
    stalls = merged(Stall(row["t_ns"].item(), round(row["value"] * 1e6)) for row in named(events, STALL))
    longest = sorted(sorted(stalls, key=lambda stall: -stall.length_ns)[:LISTED])
    return {
        "stalls": [{"at_s": stall.began_ns / 1e9, "ms": stall.length_ns * 1e-6} for stall in longest],
        "count": len(stalls),
        "longest_ms": max((stall.length_ns * 1e-6 for stall in stalls), default=None),
    }


def simulated_rig_summary(events: Events) -> dict[str, Any]:
    """Key `simulated_rig` of a summary: its late actions in order of time; arguments as for `machine_summary`."""
    rows = named(events, RIG_LATE)
    longest = sorted(sorted(rows, key=lambda row: -row["value"])[:LISTED], key=lambda row: row["t_ns"])
    late = [{"at_s": row["t_ns"] / 1e9, "ms": row["value"].item(), "detail": words_of(row)} for row in longest]
    return {"late": late, "count": len(rows), "longest_ms": max((item["ms"] for item in late), default=None)}


def long_ticks_summary(events: Events) -> dict[str, Any]:
    """Key `loop.long_ticks` of a summary."""
    rows = events[np.isin(events["name"], (INTERRUPTED.encode(), LONG.encode()))]
    longest = rows[np.argmax(rows["value"])] if len(rows) else None
    return {
        "count": len(rows),
        "interrupted": int((rows["name"] == INTERRUPTED.encode()).sum()),
        "longest_ms": None if longest is None else float(longest["value"]),
        "longest": "" if longest is None else bytes(longest["detail"]).decode(errors="replace"),
    }


Rows = list[tuple[str, str]]


class SummaryKey(NamedTuple):
    """A result of a run, declared once: the terminal, verdicts, lists and the reference take it from here."""

    #: of the summary; several with commas between, of one explanation or one row. In a row the half-width of the first
    #: one's 95 % interval (`_u95`) stands behind it, and who knows it (`_from`) in the name
    key: str
    words: str  #: what it is, as Markdown of docs/reference/summary.md; empty: said with the result before
    name: str = ""  #: of its row in the terminal; empty: it has none there
    digits: int = 0  #: after the point there
    unit: str = ""  #: there
    scale: float = 1.0  #: from the unit that the key ends in to that one
    main: str = ""  #: name in a verdict and in lists of runs, in the unit of the key; empty: these leave it out
    when: str = ""  #: key that is not null where the row is there; empty: always
    #: makes several rows of its value; they take the place of the one that `name` names
    rows: Callable[[Any], Rows] | None = None

    @property
    def keys(self) -> list[str]:
        """All its keys."""
        return self.key.split(", ")

    @property
    def main_number(self) -> tuple[str, str, str, int]:
        """Key, name, unit and digits after the point, as a verdict shows it."""
        key, unit = self.keys[0], self.unit
        return (
            key,
            self.main,
            unit if self.scale == 1.0 else unit_of(key, ""),
            self.digits + round(math.log10(self.scale)),
        )

    def row(self, summary: Mapping[str, Any]) -> tuple[str, str]:
        """Its name and value in the terminal; a dash for null."""
        name, shown, half = self.name, [], None
        for place, key in enumerate(key for key in self.keys if key in summary):
            if place and key.endswith("_from"):
                name += f", {summary[key] or 'not known'}"
            elif place and "_u95" in key:
                half = summary[key]
            else:
                shown.append(summary[key])
        if half is not None:
            return name, f"{quantity(shown[0], '', self.digits, self.scale)} ± {self._text(half)}"
        if len(shown) == 1 or any(isinstance(one, list) for one in shown):
            return name, "; ".join(map(self._text, shown))
        return name, ", ".join(map(self._text, shown)) if isinstance(shown[0], str) else self._text(shown)

    def _text(self, value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return escape(value.replace("_", " "))
        if isinstance(value, Mapping):
            apart = "; " if any(isinstance(one, list) for one in value.values()) else ", "
            return apart.join(f"{key.replace('_', ' ')} {self._text(one)}" for key, one in value.items()) or "-"
        if value and isinstance(value, list) and isinstance(value[0], str):
            return ", ".join(map(self._text, value))
        return quantity(value, self.unit, self.digits, self.scale)


def result_rows(results: Sequence[SummaryKey], summary: Mapping[str, Any]) -> Rows:
    """Rows of the results that have one, and that the summary has."""
    found: Rows = []
    for one in results:
        if summary.keys().isdisjoint(one.keys) or (one.when and summary.get(one.when) is None):
            continue
        if one.rows is not None:
            found += one.rows(summary[one.key]) if summary[one.key] else []
        elif one.name:
            found.append(one.row(summary))
    return found


def inner(*results: SummaryKey) -> Callable[[Any], Rows]:
    """Makes the rows of a section with separate results, or of a list of such sections, step by step."""

    def rows(value: Any) -> Rows:
        if isinstance(value, Mapping):
            return result_rows(results, value)
        steps = enumerate(value, start=1)
        return [(f"step {number}: {name}", text) for number, one in steps for name, text in result_rows(results, one)]

    return rows


def summary_table(title: str, rows: Rows) -> Table:
    """A table of names and values for the terminal; values may hold rich's markup."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column("quantity")
    table.add_column("value", overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def columns_table(titles: Iterable[str], rows: Iterable[Iterable[str]], words: int = 0, **form: Any) -> Table:
    """A table with a title over each column; so many first columns hold words, all others numbers."""
    table = Table(**form)
    for place, title in enumerate(titles):
        table.add_column(title, justify="left" if place < words else "right")
    for row in rows:
        table.add_row(*row)
    return table


def verdict_rows(summary: Mapping[str, Any]) -> Rows:
    """Accepted or not, and why."""
    verdict = "[bold green]yes[/]" if summary.get("accepted") else "[bold red]no[/]"
    if summary.get("accepted") and (summary.get(TRUTH_CHECK) or {}).get("by") == ALONE:
        verdict += ", by the twin alone"
    reasons = "".join(f"\n- {escape(str(reason))}" for reason in summary.get("reasons") or [])
    rows = [("accepted", verdict + reasons)]
    if aborted := summary.get("aborted"):
        rows.append(("aborted", f"[bold red]{'yes' if aborted is True else escape(str(aborted))}[/]"))
    if (summary.get("digests") or {}).get("made_by") == "recovery":
        rows.append(("record", "made whole by hil recover"))
    return rows


def quantity(value: Any, unit: str, digits: int, scale: float = 1.0) -> str:
    """A number, or a list of numbers, with its unit; a dash where there is none."""
    if value is None or value == []:
        return "-"
    items = value if isinstance(value, list | tuple) else [value]
    text = ", ".join("-" if item is None else f"{item * scale:z.{digits}f}" for item in items)
    return f"{text} {unit}".rstrip()


# What may have become of an instrument at the end of a run.
_OUT = {"left_out": "LEFT OUT at the end", "stale": "STALE at the end"}


def _source_rows(sources: Mapping[str, Mapping[str, Any]]) -> Rows:
    """What became of the instruments of motion."""
    rows = []
    for role, source in sources.items():
        used = f"{source.get('used', 0)} of {source.get('readings', 0)} readings used"
        out = next((f"; [bold red]{words}[/]" for key, words in _OUT.items() if source.get(key)), "")
        rows.append((f"{role} measured", f"{used}, mean innovation {quantity(source.get('innovation'), '', 2)}{out}"))
    return rows


def _soil_rows(parameters: Mapping[str, Mapping[str, Any]]) -> Rows:
    """The estimate of each parameter that has one."""
    rows = []
    for name, one in parameters.items():
        numbers = [one.get(key) for key in ("value", "low", "high")]
        if None in numbers:
            continue
        value, low, high = numbers
        text = f"{value:.4g} ({low:.3g} to {high:.3g})" if one["observable"] else f"not observable, {value:.4g}"
        actual = one.get("ground_truth")
        simulated = "" if actual is None else f"; simulated rig {actual:.4g}"
        rows.append((f"soil: {name.replace('_', ' ')}", f"{text}; config {one['config']:.4g}{simulated}"))
    return rows


def _mobility_rows(found: Mapping[str, Any]) -> Rows:
    """How the rover stood."""
    name, share = min(found["load_share"].items(), key=lambda item: item[1]["least"])
    margin, friction, hit_s = found["stability_deg"], found["friction_needed"], found.get("disturbed_s")
    return [
        ("least share of weight", f"{quantity(share['least'], '%', 1, 100.0)}, {name.replace('_', ' ')}"),
        ("tips over after", f"{quantity(margin['least'], 'deg', 1)} at {margin['least_at_s']:.2f} s"),
        ("friction needed", f"{quantity(friction['largest'], '', 3)} at {friction['largest_at_s']:.2f} s"),
        *([("near a hit or a fall, left out", quantity(hit_s, "s", 3))] if hit_s else []),
    ]


def _quantiles(name: str) -> Callable[[Any], Rows]:
    return inner(SummaryKey("p50, p99, p99_9, max", "", f"{name} p50, p99, p99.9, max", 1, "us"))


# What every run has, whatever its experiment, in the order of the terminal.
EVERY_RUN = (
    SummaryKey("accepted, reasons, aborted", "does the run count; why not; did it end before its time"),
    SummaryKey("truth_check", "what the run says of the rover's motion next to what is known. `by`: `simulated rig` "
        "(its truth), `measured motion` (the readings of a real rig's `motion` alone), `twin alone` (nothing else "
        "knows it), null: the run says nothing of the kind (jog, capture). `values`: `name`, `unit`, `claimed`, "
        "`known`, `allowed` difference, `ok` of each; one that is not `ok` is a reason, and the run is not accepted. "
        "Distance, largest pitch and roll, mean wheel loads by the twin; of a crossing wheels across and rise; of an "
        "impact the hit, its speed and T_c; of drawbar and slope the pull, slip and speed that are measured ([what is "
        "allowed, and why](../decisions/records.md#runs-are-held-against-what-is-known-0111))"),
    SummaryKey("estimation", "only of a rig with instruments of motion. `speed_error_mps`, `slip_error`, "
        "`load_error_N`: root mean square against the truth while driving, until the impact; `nees`: mean squared "
        "error of place, heading and speed over their variances, 1 if they are right; all null on a real rig. "
        "`sources`: of each instrument `readings`, `used`, `rejected`, `left_out`, `stale` at the end, mean normalised "
        "`innovation`, mean `age_ms` on arrival; of `motion`, where the rover stood at the end, the rate `drift_mps` "
        "of its readings there, and its standard deviation `drift_sd_mps`, and how much later than their times its "
        "readings are, `late_ms` and `late_sd_ms`, or `late_unseen`, why that is not known "
        "([observer](../explanation/observer.md))", rows=inner(SummaryKey("sources", "", rows=_source_rows),
        SummaryKey("speed_error_mps", "", "estimated speed: rms error", 2, "mm/s", 1e3, when="speed_error_mps"),
        SummaryKey("slip_error", "", "estimated slip: rms error", 4, when="slip_error"),
        SummaryKey("load_error_N", "", "estimated load: rms error", 1, "N", when="load_error_N"))),
    SummaryKey("soil_estimate", "only with `soil_estimation`. `parameters`: of each `value`, `low`, `high` (95 %), "
        "`config`, `observable` (its deviation is below half of that before), `ground_truth` of a simulated rig; "
        "`directions`: combinations of their logs, `weights`, `of_before` (deviation over that before) and "
        "`observable`; `spent_s`: time by what became of the measurements; `max_traction`: `config_s`, `estimate_s`, "
        "the time in which its loads were those for this soil, null if it was not wanted ([the "
        "soil](../explanation/soil-estimate.md))", rows=inner(SummaryKey("parameters", "", rows=_soil_rows),
        SummaryKey("max_traction", "", rows=inner(SummaryKey("config_s, estimate_s", "",
            "max traction on the soil of config, of estimate", 1, "s"))))),
    SummaryKey("mobility", "how the rover stood ([which metrics](../explanation/mobility.md)); null without ground, on "
        "a carriage, and where its loads are not known. `instants`: ticks looked at. `disturbed_s`: time left out of "
        "all that follows, because the wheels together bore over a fifth more or less than the weight, or did so "
        "within 0.05 s: a hit or a fall. `load_share`: of each wheel `start`, `least`, `largest` over all other ticks "
        "on the ground; below zero where friction of an upright face pulls the wheel down. `stability_deg`: `start`, "
        "`least`, `least_at_s`; null: fewer than three wheels bear. `friction_needed`: `start`, `largest`, "
        "`largest_at_s`; null: no friction holds it at rest", rows=_mobility_rows),
    SummaryKey("residuals", "null without `residuals.calibration`; else `not_judged`: why the thresholds do not hold "
        "for this run, empty if they do; `values`: `name`, `element`, `value`, `low`, `high`, `ok` of each "
        "([residuals](../explanation/residuals.md)). One that is not `ok` is a reason, and the run is not accepted"),
    SummaryKey("loop", "`rate_hz, ticks, late, skipped`; `long_ticks`: `count, interrupted, longest_ms, longest` of "
        "the ticks that took longer than a period ([which are noted](faults.md#ticks-that-take-too-long)), null in "
        "virtual time; `work_us, wake_us, plant_us`, and `phases_us` by stage of the tick, each with `p50, p99, p99_9, "
        "max`; `wake_us` also with `histogram`: `from_us`, lower edges of its bins, and `ticks` in each. `far_end`: "
        "ticks, late and skipped of a simulated rig in its own process, else null",
        rows=inner(SummaryKey("rate_hz", "", "loop", 0, "Hz"),
        SummaryKey("ticks, late, skipped", "", "ticks, late, skipped"), SummaryKey("long_ticks", "", rows=inner(
            SummaryKey("count, interrupted", "", "ticks over a period, of these interrupted", when="longest_ms"),
            SummaryKey("longest", "", "the longest of them", when="longest_ms"))),
        SummaryKey("work_us", "", rows=_quantiles("work")), SummaryKey("wake_us", "", rows=_quantiles("wake")))),
    SummaryKey("machine", "`stalls: [{at_s, ms}]`, `count`, `longest_ms`: times in which this machine let no process "
        "of the run continue. The 50 longest, in order of time; those of several processors at once count as one. Null "
        "in virtual time", rows=inner(SummaryKey("count, longest_ms", "", "machine stalls, longest", 0, "ms"))),
    SummaryKey("simulated_rig", "`late: [{at_s, ms, detail}]`, `count`, `longest_ms`: what a simulated rig itself did "
        "over 3 ms late, and which part of it. Null in virtual time and on a real rig",
        rows=inner(SummaryKey("count, longest_ms", "", "simulated rig late, longest", 0, "ms"))),
    SummaryKey("links", "of each link to devices that are real or simulated at the protocol level: `errors, retries, "
        "rate_hz, age_ms, detail`; else null"),
    SummaryKey("clock, seed", "what it was run with; [what the version says](record.md#the-version)", "clock, seed"),
    SummaryKey("experiment, config_sha256, version", ""),
    SummaryKey("real_time_factor", "simulated time over wall time of the loop"),
    SummaryKey("digests", "`content`, `file`, `summary`: SHA-256 of the record's content, of its file, and of the "
        "summary itself ([how they are checked](../how-to/verify-and-replay.md)). The same seed in virtual time gives "
        "the same `content`. `made_by`: `run` or `recovery`"),
)  # fmt: skip
# Of many experiments.
WHEELS = SummaryKey("wheels", "names of the wheels, in the order of the lists", "wheels, in this order")
