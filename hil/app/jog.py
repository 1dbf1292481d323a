"""One motion of a rig, recorded like a trial, and what moved."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hil
from hil.app.build import Making
from hil.app.runs import Signals, run_loop
from hil.app.trial import Outcome, open_rig
from hil.config import Config
from hil.config.devices import VALVES
from hil.disturbances import beside
from hil.record import read_trial
from hil.rows import MOTION, WHEELS
from hil.trials.jog import Jog, Motion
from hil.trials.quality import fault_reasons
from hil.trials.state import State
from hil.trials.summary import disturbances, write_summary

Say = Callable[[str], None]


def run_motion(config: Config, folder: Path, motion: Motion, say: Say, endpoints: Path | None = None) -> Outcome:
    """Make one motion and leave trial.h5 and summary.json in `folder`.

    Args:
        config: of the rig.
        folder: exists and is empty.
        motion: what moves.
        say: told what is going on, a line at a time.
        endpoints: of a simulated rig at the wire that runs already (`hil sim --endpoints`).

    Raises:
        DeviceError: a device could not be opened, or a worker could not begin.
    """
    making = Making(lambda config, arm: Jog(motion, config, arm))
    with Signals() as signals, ExitStack() as stack:
        rig = open_rig(config, folder, say, stack, making, endpoints)
        rig.cycle.scribe.tell(MOTION, in_words(motion, config))
        run_loop(rig, config, signals, say, f"{in_words(motion, config)}; Ctrl-C stops it")
        jog = making.trial
        record, clock, safety = read_trial(folder), rig.loop.clock, rig.cycle.safety
        reasons = [f"not armed: {c.item} is {c.found}, allowed: {c.allowed}" for c in jog.checks if not c.ok]
        reasons += fault_reasons(safety, partial(beside, record.events))
        if jog.touched:
            reasons.append("cut short: the force sensors felt an impact")
        summary: dict[str, Any] = {
            "motion": in_words(motion, config),
            **what_moved(record.tick, config.rover.wheel_radius_m),
            "reasons": reasons,
            "aborted": jog.state is not State.DONE or safety.safe,
            "clock": config.clock,
            "seed": config.seed,
            "loop": {
                "rate_hz": config.loop.rate_hz,
                "ticks": rig.cycle.scribe.ticks,
                "late": clock.late,
                "skipped": clock.skipped,
            },
            **disturbances(config, record.events),
            "config_sha256": config.sha256(),
            "version": hil.__version__,
        }
        write_summary(folder, summary)
        rig.publish(summary)
    return Outcome(3 if jog.refused else 1 if reasons else 0, summary)


def in_words(motion: Motion, config: Config) -> str:
    """What moves, and for how long."""
    radius_m = config.rover.wheel_radius_m
    parts = [
        f"{name} at {speed * radius_m:g} m/s" for name, speed in zip(WHEELS, motion.speed_radps, strict=True) if speed
    ]
    powered = [on for side in motion.valves for on in side]
    parts += [f"valve {name.replace('_', ' ')}" for name, on in zip(VALVES, powered, strict=True) if on]
    return f"{', '.join(parts)} for {motion.seconds:g} s"


def what_moved(ticks: NDArray[np.void], radius_m: float) -> dict[str, Any]:
    """Speed of each wheel at the rim, in the mean of the motion's second half [m/s]; largest pressures in it [kPa].

    Args:
        ticks: rows of `TICK`.
        radius_m: of the wheels [m].

    Returns:
        None for what was not measured.
    """
    moving = ticks[ticks["state"] == State.RUN_UP]
    speeds = moving["wheel_speed_radps"][len(moving) // 2 :] * radius_m
    pressures = moving["pressure_Pa"].reshape(len(moving), len(VALVES)) * 1e-3
    return {
        "speed_reached_mps": dict(zip(WHEELS, (_known(wheel, np.mean) for wheel in speeds.T), strict=True)),
        "pressure_reached_kPa": dict(zip(VALVES, (_known(chamber, np.max) for chamber in pressures.T), strict=True)),
    }


def _known(values: NDArray[np.float64], of: Callable[[NDArray[np.float64]], Any]) -> float | None:
    return float(of(values)) if values.size and np.isfinite(values).all() else None
