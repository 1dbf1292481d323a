"""Makes the report of a campaign: reads and proves its trials, draws, writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hil.analysis.campaign import CSV, RecordedCampaign, read_campaign
from hil.analysis.report import drawing, force_figures, trial_figures
from hil.analysis.report.answers import source_line
from hil.analysis.report.groups import Group, Trial, config_of, doubts, groups_of, trials_of
from hil.analysis.report.page import Contents, motion_over_trials, motion_rows, render
from hil.analysis.report.trial_figures import Trace, trace_of
from hil.config import Config
from hil.config.files import replacing
from hil.experiments.drawing import stamp
from hil.recording import RecordError, open_trial
from hil.recording.child_reader import file_sha256
from hil.recording.run_folder import FolderError, file_in
from hil.version import running_version

FIGURES = "figures"
Figures = dict[str, list[Figure]]


@dataclass(frozen=True)
class Report:
    """What a report has become."""

    page: Path  # report.html
    figures: tuple[Path, ...]  # PNG, PDF and SVG
    groups: tuple[Group, ...]  # trials that may be compared, with their statistics
    trials: tuple[Trial, ...]  # all trials
    wrong: tuple[str, ...]  # why files of the campaign are not to be trusted; empty if they are


class DoubtedError(ValueError):
    """Files of a campaign do not match their digests."""


def report_campaign(folder: Path, *, unverified: bool = False) -> Report:
    """Write the report of a campaign into its folder: report.html, and figures/ as PNG, PDF and SVG.

    What does not match its digests is reported with `unverified` only; page and figures are stamped and have other
    names.

    Raises FolderError: it is no campaign, or has no trial yet, or cannot be written to; DoubtedError: files do not
    match, and `unverified` is not set.
    """
    campaign = read_campaign(folder)
    trials = trials_of(campaign)
    if not trials:
        raise FolderError(f"{folder} holds no trial yet: {CSV} has no rows")
    wrong = doubts(campaign, trials)
    if wrong and not unverified:
        raise DoubtedError(_in_words(folder, wrong))
    traces, work_us, times, unread = _recorded(trials)
    wrong = (*wrong, *unread)
    if wrong and not unverified:
        raise DoubtedError(_in_words(folder, wrong))
    config = config_of(campaign)
    groups = groups_of(trials, campaign, config.ground.kind if config else None)
    words = source_line(campaign, times)
    with drawing.styled():
        figures = _draw(trials, groups, config, traces, work_us)
        for figure in (drawn for pages in figures.values() for drawn in pages):
            drawing.settle(figure, words)
            if wrong:
                stamp(figure, "NOT VERIFIED")
        try:
            written = _save(campaign, figures, "unverified" if wrong else "")
            images = {name: [files["svg"].read_text(encoding="utf-8") for files in written[name]] for name in figures}
            text = render(Contents(campaign, trials, groups, config, traces, images, work_us, times, wrong))
            page = folder / ("report.unverified.html" if wrong else "report.html")
            with replacing(page) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
        except OSError as error:
            raise FolderError(f"{folder} cannot take a report: {error}") from None
    all_files = tuple(path for pages in written.values() for files in pages for path in files.values())
    return Report(page, all_files, tuple(groups), tuple(trials), wrong)


def _in_words(folder: Path, wrong: Sequence[str]) -> str:
    more = f"; {len(wrong)} such findings" if len(wrong) > 1 else ""
    return f"{folder} is not reported: {wrong[0]}{more} (hil verify of the trial says more)"


def _recorded(trials: Sequence[Trial]) -> tuple[dict[str, Trace], NDArray[np.float64], list[str], list[str]]:
    """Traces by the trial's label, work of all ticks [us], `wall_time` of each, and which records cannot be read."""
    traces, work, times, unread = {}, [np.zeros(0)], list[str](), list[str]()
    for trial in trials:
        if trial.folder is None:
            continue
        try:
            with open_trial(trial.folder) as record:
                work.append(record.timing["work_ns"] * 1e-3)
                times.append(str(record.meta.get("wall_time", "")))
                if trace := trace_of(record, trial.summary):
                    traces[trial.label] = trace
        except RecordError as error:
            unread.append(str(error))
    return traces, np.concatenate(work), times, unread


def _draw(
    trials: Sequence[Trial],
    groups: Sequence[Group],
    config: Config | None,
    traces: dict[str, Trace],
    work_us: NDArray[np.float64],
) -> Figures:
    triangle, plate = (config.triangle, config.obstacle.plate) if config else (None, None)
    wheel_radius_m = config.wheel_radius_m if config else 0.0
    return {
        "force_over_angle": [force_figures.force_over_angle(groups)],
        "force_over_energy": force_figures.force_over_energy(groups),
        "force_over_hit_height": force_figures.force_over_hit_height(groups, triangle),
        "force_over_offset": force_figures.force_over_offset(groups),
        "load_points": trial_figures.load_points(groups, triangle, plate, wheel_radius_m),
        "traces": trial_figures.small_multiples(trials, traces),
        "timing": [trial_figures.timing(trials, work_us)],
    } | ({"motion": [motion_over_trials(measured)]} if (measured := motion_rows(trials)) else {})


def _save(campaign: RecordedCampaign, figures: Figures, suffix: str) -> dict[str, list[dict[str, Path]]]:
    """Every figure as PNG, PDF and SVG, which say what they are of; files by name, number and ending."""
    folder = file_in(campaign.folder, FIGURES)
    folder.mkdir(exist_ok=True)
    digest = file_sha256(campaign.folder / CSV)
    title = f"{campaign.name}{': NOT VERIFIED' if suffix else ''}"
    facts = {
        "seed": str(campaign.meta.get("seed")),
        "config_sha256": str(campaign.meta.get("config_sha256")),
        "version": running_version(),
        "csv_sha256": digest,
    }
    written: dict[str, list[dict[str, Path]]] = {}
    for name, pages in figures.items():
        written[name] = []
        for number, figure in enumerate(pages, start=1):
            parts = [name, *([str(number)] if len(pages) > 1 else []), *([suffix] if suffix else [])]
            saved = drawing.save(figure, folder / "_".join(parts), title, facts)
            written[name].append({path.suffix[1:]: path for path in saved})
    return written
