"""Writes figures: what a figure is of stands in its file, and the same numbers give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from hil.config.files import replacing
from hil.experiments.figure_form import FigureForm
from hil.recording import OpenRecord

_SCREEN_DPI, _PRINT_DPI = 100, 600
_KNOWN = ("seed", "config", "config_sha256", "version", "content_sha256")
# Ids of an SVG come from this and from what they name, not from chance; TrueType, for journals refuse Type 3 fonts.
_STYLE: Any = {"svg.hashsalt": "rover-hil", "pdf.fonttype": 42, "svg.fonttype": "path"}


def facts_of(record: OpenRecord, summary: Mapping[str, Any]) -> dict[str, str]:
    """Seed, config, version and digest of a run, as text; `unknown` where neither record nor summary say it."""
    digests = summary.get("digests")
    found = {
        "seed": summary.get("seed", record.meta.get("seed")),
        "config": setting_of(record, "name"),
        "config_sha256": summary.get("config_sha256", record.meta.get("config_sha256")),
        "version": summary.get("version", record.meta.get("version")),
        "content_sha256": digests.get("content") if isinstance(digests, dict) else None,
    }
    return {key: "unknown" if found[key] is None else str(found[key]) for key in _KNOWN}


def setting_of(record: OpenRecord, key: str) -> str | None:
    """A setting of a record's config by its name, as its text has it: at the top of the config, or else inside it."""
    config = str(record.meta.get("config", ""))
    found = re.search(rf"^{key}: (.+?)$", config, re.MULTILINE) or re.search(rf"^ +{key}: (.+?)$", config, re.MULTILINE)
    return found and found[1].strip("\"' ")


def run_line(record: OpenRecord, summary: Mapping[str, Any], run: str) -> str:
    """Which run a figure is of, in a line: its folder, seed, time and config, and whether anything real moved."""
    facts, day = facts_of(record, summary), str(record.meta.get("wall_time", ""))
    rig = setting_of(record, "rig")
    parts = [
        f"run {run}" if run else "run not saved",
        f"seed {facts['seed']}",
        f"{day[:10]} {day[11:19]} UTC" if day else "date unknown",
        f"config {facts['config']}",
        "rig unknown" if rig is None else "real rig" if rig == "real" else "SIMULATED rig",
    ]
    return "   ".join(parts)


def frame_figure(
    figure: Figure, form: FigureForm, what: str, record: OpenRecord, summary: Mapping[str, Any], run: str
) -> None:
    """Over a figure what was done and how it was judged, which is its label, too; below it, of which run it is."""
    verdict = "accepted" if summary.get("accepted") else "not accepted: " + "; ".join(summary.get("reasons") or [])
    title, words = f"{what}: {verdict}", run_line(record, summary, run)
    figure.suptitle(title[: 150 if form.columns == 2 else 60], x=0.01, ha="left", fontsize=form.font(12.0))
    words = words if form.columns == 2 else words.replace("   config", "\nconfig")
    figure.text(0.01, 0.002, words, fontsize=form.font(8.5), color="#404040", va="bottom", parse_math=False)
    figure.get_layout_engine().set(rect=(0.0, 0.035, 1.0, 0.965))  # type: ignore[union-attr,call-arg]
    figure.set_label(title)


def save_figure(figure: Figure, path: Path, title: str, facts: Mapping[str, str], form: FigureForm) -> None:
    """Write a figure of a run, as `write_figure` does. Raises ValueError: another ending."""
    if form.notice:
        for y in (0.25, 0.75):  # twice, so that no half of it does without
            stamp(figure, f"NOT VERIFIED\n{form.notice}", y, fontsize=form.font(16.0), line=form.line(3.0))
    write_figure(figure, path, title, facts, _SCREEN_DPI if form.width == "screen" else _PRINT_DPI)


def write_figure(figure: Figure, path: Path, title: str, facts: Mapping[str, str], dpi: int) -> None:
    """Write a figure as PNG, PDF or SVG, by the ending of the path, with what it is of as metadata.

    PNG: a text chunk for each fact. PDF: title, and all facts under Keywords. SVG: title, description, and a keyword
    for each fact. No time of day in any of them. The file is whole, or as it was before.

    Raises:
        ValueError: another ending.
        OSError: it cannot be written.
    """
    kind = path.suffix.removeprefix(".")
    pairs = [f"{key}={value}" for key, value in facts.items()]
    metadata: dict[str, Any]
    if kind == "png":
        metadata = {"Title": title, "Software": "rover-hil", **facts}
    elif kind == "pdf":
        metadata = {"Title": title, "Creator": "rover-hil", "Producer": None, "CreationDate": None}
        metadata["Keywords"] = "; ".join(pairs)
        FigureCanvasPdf(figure)
    elif kind == "svg":
        metadata = {"Title": title, "Creator": "rover-hil", "Date": None, "Keywords": pairs}
        metadata["Description"] = "; ".join(pairs)
        FigureCanvasSVG(figure)
    else:
        raise ValueError(f"figure {path.name}: allowed endings: .png, .pdf, .svg")
    with mpl.rc_context(_STYLE), replacing(path) as unfinished:
        figure.savefig(unfinished, format=kind, dpi=dpi, metadata=metadata)


def stamp(figure: Figure, words: str, y: float = 0.5, *, fontsize: float = 13.0, line: float = 2.0) -> None:
    """Write words across a figure at a height, so that nobody takes it for a good one."""
    box = {"facecolor": "white", "edgecolor": "#cc3311", "alpha": 0.85, "lw": line}
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": "#cc3311", "fontweight": "bold", "bbox": box}
    figure.text(0.5, y, words, rotation=10, parse_math=False, wrap=True, fontsize=fontsize, **style)
