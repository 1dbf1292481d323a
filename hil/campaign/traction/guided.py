"""Series of traction with an operator: who pulls back, loads weights or tilts the bed between the runs.

The rig is opened anew for each run, as in a campaign (`hil.campaign.guided`): nothing of this program holds the drives
while people work at the rover. Each run has its folder; a run that is repeated keeps the former ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.campaign.guided import NoAnswerError, Operator, Question, Run
from hil.campaign.run import CampaignStop, ProgressReporter, interrupted
from hil.campaign.sweep import SweepRows, SweepRun, sweep_head, sweep_row, write_table
from hil.campaign.traction.series import SlopeSearch, on_slope
from hil.config import Config, ConfigError, Problem
from hil.config.files import replacing
from hil.config.schema.experiments import along_way_problems
from hil.experiments.throttle import RESULTS
from hil.recording.run_folder import run_folder

SAID = "said.json"


@dataclass(frozen=True)
class Guide:
    """Who is asked, and how a run is made."""

    operator: Operator
    run: Run
    report: ProgressReporter
    stop: CampaignStop
    folder: Path

    def begin(self) -> str:
        """Name of the operator. Raises NoAnswerError."""
        return self.operator.ask(Question("name", "Name of the operator"))

    def one(self, config: Config, number: int, to_set: str, name: str) -> dict[str, Any] | None:
        """Runs until one is kept.

        Returns:
            The summary with `attempt`, `kept` and `word`; None: a signal ended it, and it is to be made again.

        Raises:
            NoAnswerError: the operator ended the series.
        """
        attempt = len([*self.folder.glob(f"run_{number:03d}_*")])
        while True:
            attempt += 1
            again = f", attempt {attempt}" if attempt > 1 else ""
            text = f"Run {number}{again}. Set:\n{to_set}\nReady"
            if self.operator.ask(Question("ready", text, ("go", "stop"), "go", number)) == "stop":
                raise NoAnswerError("ready")
            place = run_folder(self.folder / f"run_{number:03d}_{attempt}", config.name, "")
            summary = self.run(config, place)
            if interrupted(summary):
                self.stop.wanted = True
                return None
            default = "keep" if summary["accepted"] else "repeat"
            text = f"{outcome(summary)}\nKeep it, or repeat it"
            verdict = self.operator.ask(Question("verdict", text, ("keep", "repeat"), default, number))
            word = self.operator.ask(Question("word", "A word on it, if any"))
            with replacing(place / SAID) as unfinished:
                said = {"name": name, "verdict": verdict, "word": word}
                unfinished.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
            if verdict == "keep":
                return {**summary, "attempt": attempt, "word": word}
            if self.stop.wanted:
                return None


def refuse_unmeasured(base: Config, name: str) -> None:
    """A rig that is not simulated needs its instruments. Raises ConfigError with the keys to set."""
    why = f"hil {name} on a rig that is not simulated"
    problems = along_way_problems(base, why)
    if name == "drawbar" and not base.layout.load_cell:
        allowed = "a load cell in the line that pulls (loads.load_cell={}): nothing else measures the pull"
        problems.append(Problem("loads.load_cell", f"none, with {why}", allowed))
    if problems:
        raise ConfigError(base.name, problems, f"{name} series of config")


def run_drawbar(runs: Sequence[SweepRun], guide: Guide, *, resume: bool = False) -> list[dict[str, Any]]:
    """Make the runs of a drawbar series one after the other, as the operator says; writes drawbar.csv.

    Returns:
        The rows, by number.

    Raises:
        FolderError, ConfigError: it cannot be resumed.
        DeviceError, NotArmedError: a run could not begin.
    """
    with SweepRows(guide.folder, sweep_head(runs), resume) as rows:
        left = [run for run in runs if run.number not in rows]
        before: SweepRun | None = None
        try:
            name = guide.begin() if left else ""
            for run in left:
                if guide.stop.wanted:
                    break
                summary = guide.one(run.config, run.number, drawbar_to_set(run, before), name)
                if summary is None:
                    break
                before = run
                rows.add({**sweep_row(run, summary), "operator": name, "word": summary["word"]})
                guide.report.done(len(rows), len(runs))
        except NoAnswerError:
            guide.stop.wanted = True
        finally:
            with replacing(guide.folder / "drawbar.csv") as unfinished:
                write_table(unfinished, rows.rows, "csv")
        if len(rows) == len(runs):
            rows.whole()
        return rows.rows


def run_slopes(base: Config, guide: Guide) -> list[SlopeSearch]:
    """Search for the steepest slope of each mode of `slope.modes`; the operator tilts the bed.

    Raises DeviceError, NotArmedError: a run could not begin.
    """
    searches, section, number = [SlopeSearch(mode) for mode in base.slope.modes], base.slope, 0
    try:
        name = guide.begin()
        for search in searches:
            while (deg := search.next_deg(section.from_deg, section.to_deg, section.resolution_deg)) is not None:
                if guide.stop.wanted:
                    return searches
                number += 1
                slope_deg = _tilted(guide, deg, number)
                try:
                    config = on_slope(base, search.mode, slope_deg)
                except ConfigError as error:
                    refused = list(map(str, error.problems))
                    search.take(slope_deg, {"accepted": False, "climbed": False, "reasons": refused})
                    guide.report.text(f"{slope_deg:g} degrees: {search.tried[-1]['reasons']}")
                    continue
                summary = guide.one(config, number, slope_to_set(search.mode, slope_deg), name)
                if summary is None:
                    return searches
                search.take(slope_deg, summary)
    except NoAnswerError:
        guide.stop.wanted = True
    return searches


def _tilted(guide: Guide, slope_deg: float, number: int) -> float:
    """The slope of the bed as the operator has measured it [degrees]. Raises NoAnswerError."""
    text = f"Run {number}. Tilt the bed to {slope_deg:.2f} degrees, and level its soil. Measured slope in degrees"
    while True:
        answer = guide.operator.ask(Question("slope", text, (), f"{slope_deg:.2f}", number))
        try:
            found = float(answer)
        except ValueError:
            found = math.nan
        if 0.0 <= found <= 30.0:
            return found
        guide.report.text(f"slope: found {answer!r}; allowed: 0 to 30 degrees")


def drawbar_to_set(run: SweepRun, before: SweepRun | None = None) -> str:
    """What the operator has to do for a run, one line each; of what is set once, only what changes."""
    config, lines = run.config, list[str]()
    payload = config.rover.payload
    if before is None or before.values["weight"] != run.values["weight"]:
        place = f"{payload.x_m:g} m ahead, {payload.y_m:g} m to port, {payload.z_m:g} m up"
        lines.append(f"weight: {payload.mass_kg:g} kg, {place}" if payload.mass_kg else "weight: none")
    if before is None or before.values["mode"] != run.values["mode"]:
        lines.append(f"wheel loads: {config.drawbar.mode.replace('_', ' ')} (the program sets them)")
    section, rim_mps = config.drawbar, config.section.rim_speed_mps
    rover = "" if rim_mps is None else f", which is {(1.0 - section.slip) * rim_mps:.3f} m/s of the rover"
    lines += [
        "soil: prepared as for the run before; rover at the start, line of the load cell slack",
        f"pull back so that the slip settles at {section.slip:g}{rover}, within {section.settle_s:g} s; then hold it "
        f"for {section.measure_s:g} s",
        "everybody clear of the rover: it drives by itself",
    ]
    return "\n".join(f"  - {line}" for line in lines)


def slope_to_set(mode: str, slope_deg: float) -> str:
    """The same for a run on a slope."""
    lines = [
        f"rover: at the foot of the slope of {slope_deg:.2f} degrees, heading up it",
        f"wheel loads: {mode.replace('_', ' ')} (the program sets them)",
        "everybody clear, also below: on a slope that is too steep it slides",
    ]
    return "\n".join(f"  - {line}" for line in lines)


def outcome(summary: Mapping[str, Any]) -> str:
    """How a run came out, for the operator who is to keep or repeat it."""
    judged = "ended early" if summary["aborted"] else "accepted" if summary["accepted"] else "not accepted"
    climbed = {True: ", climbed", False: ", not climbed", None: ""}[summary.get("climbed")]
    known = [one for one in RESULTS if one.main and summary.get(one.keys[0]) is not None]
    numbers = ", ".join(f"{one.main} {one.row(summary)[1]}" for one in known)
    reasons = "".join(f"\n  - {reason}" for reason in summary.get("reasons") or ())
    return f"The run is {judged}{climbed}: {numbers or 'nothing measured'}{reasons}"
