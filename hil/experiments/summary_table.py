"""How the numbers of a summary are shown in the terminal: rows of names and values, and their table.

Disturbances in the summary of a run and in its table: stalls of the machine, a late simulated rig, long ticks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.markup import escape
from rich.table import Table

from hil.config.key_descriptions import unit_of
from hil.experiments.claim import ALONE, TRUTH_CHECK
from hil.processes.disturbances import INTERRUPTED, LONG, RIG_LATE, STALL, Events, named, words_of
from hil.realtime.clock import Stall, merged

# The summary lists the longest disturbances; all are in the record.
LISTED = 50


def disturbance_lines(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys `machine` and `simulated_rig` as lines of a table; none in virtual time, or of a record without them."""
    lines = []
    if machine := summary.get("machine"):
        lines.append(("machine stalls, longest", _counted(machine)))
    if rig := summary.get("simulated_rig"):
        lines.append(("simulated rig late, longest", _counted(rig)))
    return lines


def _counted(section: Mapping[str, Any]) -> str:
    return f"{section['count']}, {section['longest_ms']:.0f} ms" if section["count"] else "0, -"


def machine_summary(events: Events) -> dict[str, Any]:
    """Key `machine` of a summary: stalls in order of time; simultaneous stalls of several processors count as one.

    Args:
        events: of the record, rows of `EVENT`.
    """
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
    """Key `loop.long_ticks` of a summary.

    Args:
        events: of the record, rows of `EVENT`.
    """
    rows = events[np.isin(events["name"], (INTERRUPTED.encode(), LONG.encode()))]
    longest = rows[np.argmax(rows["value"])] if len(rows) else None
    return {
        "count": len(rows),
        "interrupted": int((rows["name"] == INTERRUPTED.encode()).sum()),
        "longest_ms": None if longest is None else float(longest["value"]),
        "longest": "" if longest is None else bytes(longest["detail"]).decode(errors="replace"),
    }


def long_tick_lines(loop: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Key `loop.long_ticks` as lines of a table, from that section `loop`; none where there was no long tick."""
    counts = loop.get("long_ticks") or {"count": 0}
    if not counts["count"]:
        return []
    counted = f"{counts['count']}, {counts['interrupted']}"
    return [("ticks over a period, of these interrupted", counted), ("the longest of them", counts["longest"])]


# What may have become of an instrument at the end of a run.
_OUT = {"left_out": "LEFT OUT at the end", "stale": "STALE at the end"}


class SummaryKey(NamedTuple):
    """A result of an experiment, declared once: the terminal, verdicts, lists and the reference take it from here.

    Attributes:
        key: of the summary; several with commas between, of one explanation or one row.
        words: what it is, as Markdown of docs/reference/summary.md; empty: said with the result before.
        name: of its row in the terminal; empty: it has none there.
        digits: after the point there.
        unit: there.
        scale: from the unit that the key ends in to that one.
        main: name in a verdict and in lists of runs, in the unit of the key; empty: these leave it out.
        when: key that is not null where the row is there; empty: always.
    """

    key: str
    words: str
    name: str = ""
    digits: int = 0
    unit: str = ""
    scale: float = 1.0
    main: str = ""
    when: str = ""

    @property
    def keys(self) -> list[str]:
        """All its keys."""
        return self.key.split(", ")

    @property
    def main_number(self) -> tuple[str, str, str, int]:
        """Key, name, unit and digits after the point, as a verdict shows it."""
        unit = self.unit if self.scale == 1.0 else unit_of(self.key, "")
        return self.key, self.main, unit, self.digits + round(math.log10(self.scale))

    def shown(self, summary: Mapping[str, Any]) -> str:
        """Its value in the terminal; a dash for null."""
        values = [summary.get(key) for key in self.keys]
        value = values[0] if len(values) == 1 else values
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return value.replace("_", " ")
        if isinstance(value, Mapping):
            return ", ".join(f"{key} {quantity(one, self.unit, self.digits, self.scale)}" for key, one in value.items())
        if value and isinstance(value, list) and isinstance(value[0], str):
            return ", ".join(one.replace("_", " ") for one in value)
        return quantity(value, self.unit, self.digits, self.scale)


def result_rows(results: Sequence[SummaryKey], summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rows of the results that have one, and that the summary has."""
    return [
        (one.name, one.shown(summary))
        for one in results
        if one.name and not summary.keys().isdisjoint(one.keys) and (not one.when or summary.get(one.when) is not None)
    ]


def summary_table(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and values for the terminal; values may hold rich's markup."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column("quantity")
    table.add_column("value", overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def verdict_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Accepted or not, and why."""
    verdict = "[bold green]yes[/]" if summary.get("accepted") else "[bold red]no[/]"
    if summary.get("accepted") and (summary.get(TRUTH_CHECK) or {}).get("by") == ALONE:
        verdict += ", by the twin alone"
    reasons = "".join(f"\n- {escape(str(reason))}" for reason in summary.get("reasons") or [])
    rows = [("accepted", verdict + reasons)]
    if summary.get("aborted"):
        rows.append(("aborted", f"[bold red]{escape(str(summary['aborted']))}[/]"))
    if (summary.get("digests") or {}).get("made_by") == "recovery":
        rows.append(("record", "made whole by hil recover"))
    return rows


def motion_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What became of the instruments of motion, and how far the estimates were from the truth, where it is known."""
    estimation = summary.get("estimation") or {}
    rows = []
    for role, source in (estimation.get("sources") or {}).items():
        used = f"{source.get('used', 0)} of {source.get('readings', 0)} readings used"
        out = next((words for key, words in _OUT.items() if source.get(key)), "")
        innovation = quantity(source.get("innovation"), "", 2)
        rows.append(
            (f"{role} measured", f"{used}, mean innovation {innovation}" + (f"; [bold red]{out}[/]" if out else ""))
        )
    if any(estimation.get(key) is not None for key in ("speed_error_mps", "slip_error", "load_error_N")):
        errors = [
            quantity(estimation.get("speed_error_mps"), "mm/s", 2, 1e3),
            quantity(estimation.get("slip_error"), "", 4),
            quantity(estimation.get("load_error_N"), "N", 1),
        ]
        rows.append(("estimated speed, slip, load: rms error", ", ".join(errors)))
    return rows


def soil_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The estimate for the terminal; none for a rig whose soil is not estimated."""
    estimate = summary.get("soil_estimate") or {}
    rows = []
    for name, one in (estimate.get("parameters") or {}).items():
        numbers = [one.get(key) for key in ("value", "low", "high")]
        if None in numbers:
            continue
        value, low, high = numbers
        text = f"{value:.4g} ({low:.3g} to {high:.3g})" if one["observable"] else f"not observable, {value:.4g}"
        actual = one.get("ground_truth")
        simulated = "" if actual is None else f"; simulated rig {actual:.4g}"
        rows.append((f"soil: {name.replace('_', ' ')}", f"{text}; config {one['config']:.4g}{simulated}"))
    if aimed := estimate.get("max_traction"):
        text = f"config for {aimed['config_s']:.1f} s, estimate for {aimed['estimate_s']:.1f} s"
        rows.append(("max traction on the soil of", text))
    return rows


def mobility_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How the rover stood; none where nobody can tell, or of a summary of an earlier version."""
    found = summary.get("mobility")
    if not found:
        return []
    name, share = min(found["load_share"].items(), key=lambda item: item[1]["least"])
    margin, friction, hit_s = found["stability_deg"], found["friction_needed"], found.get("disturbed_s")
    return [
        ("least share of weight", f"{quantity(share['least'], '%', 1, 100.0)}, {name.replace('_', ' ')}"),
        ("tips over after", f"{quantity(margin['least'], 'deg', 1)} at {margin['least_at_s']:.2f} s"),
        ("friction needed", f"{quantity(friction['largest'], '', 3)} at {friction['largest_at_s']:.2f} s"),
        *([("near a hit or a fall, left out", quantity(hit_s, "s", 3))] if hit_s else []),
    ]


def loop_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How the loop ran, and what it measured of the motion."""
    loop = summary.get("loop") or {}
    return [
        *motion_rows(summary),
        *soil_rows(summary),
        *mobility_rows(summary),
        ("loop", f"{quantity(loop.get('rate_hz'), 'Hz', 0)}, {quantity(loop.get('ticks'), 'ticks', 0)}"),
        ("late, skipped", f"{quantity(loop.get('late'), '', 0)}, {quantity(loop.get('skipped'), '', 0)}"),
        *long_tick_lines(loop),
        ("work p50, p99, p99.9, max", _spread(loop.get("work_us"))),
        ("wake p50, p99, p99.9, max", _spread(loop.get("wake_us"))),
        *disturbance_lines(summary),
        ("clock, seed", f"{summary.get('clock', '-')}, {summary.get('seed', '-')}"),
    ]


def quantity(value: Any, unit: str, digits: int, scale: float = 1.0) -> str:
    """A number, or a list of numbers, with its unit; a dash where there is none."""
    if value is None or value == []:
        return "-"
    items = value if isinstance(value, list | tuple) else [value]
    text = ", ".join("-" if item is None else f"{item * scale:.{digits}f}" for item in items)
    return f"{text} {unit}".rstrip()


def _spread(times: Mapping[str, float] | None) -> str:
    return quantity([times.get(key) for key in ("p50", "p99", "p99_9", "max")], "us", 1) if times else "-"
