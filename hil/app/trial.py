"""One impact trial from the config to its files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivers.base import DeviceError
from hil.app.build import MakeTrial, Making
from hil.app.rigs import LockstepRig, RealtimeRig, Rig
from hil.app.runs import Signals, run_loop
from hil.config import Config
from hil.record import read_trial
from hil.trials.state import ImpactTrial, State
from hil.trials.summary import summarise, write_summary

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the exit status of the command, and the summary as written."""

    exit_code: int
    summary: dict[str, Any]


def open_rig(
    config: Config,
    folder: Path,
    say: Say,
    stack: ExitStack,
    make_trial: MakeTrial = ImpactTrial,
    endpoints: Path | None = None,
) -> Rig:
    """A rig that is ready to run; `stack` closes it. Raises DeviceError."""
    if endpoints and config.rig != "simulated_wire":
        raise DeviceError(f"--endpoints {endpoints}: found rig: {config.rig}; allowed: with rig: simulated_wire")
    if config.clock == "lockstep":
        return LockstepRig(config, folder, say, stack, make_trial)
    return RealtimeRig(config, folder, say, stack, make_trial, endpoints)


def run_trial(config: Config, folder: Path, say: Say, endpoints: Path | None = None) -> Outcome:
    """Run one impact trial and leave trial.h5, summary.json and trial.png in `folder`.

    Args:
        config: of the rig and the trial.
        folder: exists and is empty.
        say: told what is going on, a line at a time.
        endpoints: of a simulated rig at the wire that runs already (`hil sim --endpoints`).

    Raises:
        DeviceError: a device could not be opened, or a worker could not begin.
    """
    making = Making(ImpactTrial)
    with Signals() as signals, ExitStack() as stack:
        rig = open_rig(config, folder, say, stack, making, endpoints)
        angle, speed = config.trial.angle_deg, config.trial.speed_mps
        what = f"{angle:g} deg at {speed:g} m/s, {config.loop.rate_hz} Hz, {config.clock}"
        wall_s = run_loop(rig, config, signals, say, what)
        trial, record = making.trial, read_trial(folder)
        summary = summarise(
            config,
            rig.cycle,
            trial,
            rig.loop.clock,
            rig.truth,
            record.timing,
            record.events,
            rig.far_end_loop(),
            rig.links(),
            wall_s,
        )
        write_summary(folder, summary)
        rig.publish(summary)
    say("drawing trial.png")
    from hil.trials.report import draw_trial  # matplotlib takes half a second to import

    draw_trial(record, summary, folder / "trial.png")
    if trial.state is State.DONE and not rig.cycle.safety.safe:
        return Outcome(0, summary)
    return Outcome(3 if trial.refused else 1, summary)
