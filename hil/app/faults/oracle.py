"""Judges the outcome of a run by its record and the simulated devices, not by the controller's own checks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hil.app.faults.lockstep import LockstepResult
from hil.config import Config
from hil.experiments.base import State
from hil.messages.fault import Fault
from hil.safety.fault_table import warnings_for

# Noticed at the end of a tick, whose row holds the command before: the devices are stopped beside it.
AFTER_THE_COMMAND = (Fault.DISK_FULL, Fault.RECORD_RING_FULL, Fault.EXCEPTION)
# A wheel slower than this stands [rad/s], so long after the cut [ns].
STANDING_RADPS, STANDING_AFTER_NS = 0.05, 300_000_000
_TOLERANCE = 1e-9


def unsafe(run: LockstepResult) -> list[str]:
    """What is unsafe about the outcome of a run in lockstep, in words; empty: nothing."""
    return [*_commands(run.config, run.ticks), *_after_the_fault(run), *_at_the_end(run)]


def latched(config: Config, events: NDArray[np.void]) -> NDArray[np.void]:
    """Events of the faults that must have latched Safe on a rig, oldest first; the others only mark the run."""
    return events[(events["id"] > 0) & ~np.isin(events["id"], list(warnings_for(config)))]


def _commands(config: Config, ticks: NDArray[np.void]) -> Iterator[str]:
    """Every command that went out is within the limits of the config."""
    limits, speeds, cut = config.limits, ticks["set_speed_radps"], ticks["cut"] == 1
    if not np.isfinite(speeds).all() or (np.abs(speeds) > limits.wheel_speed_radps + _TOLERANCE).any():
        yield f"a wheel speed over limits.wheel_speed_radps ({limits.wheel_speed_radps:g}) was commanded"
    steps = np.abs(np.diff(speeds, axis=0, prepend=np.zeros((1, speeds.shape[1]))))
    if (steps[~cut] > limits.wheel_acceleration_radps2 / config.loop.rate_hz + _TOLERANCE).any():
        yield "a change of speed over limits.wheel_acceleration_radps2 was commanded"
    if speeds[cut].any():
        yield "a cut was commanded together with a speed"
    if "valves" in (ticks.dtype.names or ()) and ticks["valves"].all(axis=2).any():
        yield "both valves of a cylinder were powered at once"
    if "regulator_Pa" in (ticks.dtype.names or ()):
        highest_Pa = config.cylinders.supply_kPa * 1e3 + _TOLERANCE
        if not ((ticks["regulator_Pa"] >= 0.0) & (ticks["regulator_Pa"] <= highest_Pa)).all():
            yield "a regulator was set outside 0 to cylinders.supply_kPa"


def _after_the_fault(run: LockstepResult) -> Iterator[str]:
    """From the tick of the first fault on: Safe, latched, all cut and off, and nothing begins."""
    faults, ticks = latched(run.config, run.events), run.ticks
    if not len(faults):
        return
    since = faults["reaction_tick"][0] + (faults["id"][0] in AFTER_THE_COMMAND)
    later = ticks[ticks["tick"] >= since]
    after = f"after fault {faults['id'][0]}"
    if not (later["safe"] == 1).all():
        yield f"{after} Safe was not latched"
    if not (later["cut"] == 1).all():
        yield f"{after} the drives were not cut in every tick"
    if "valves" in (ticks.dtype.names or ()) and later["valves"].any():
        yield f"{after} a valve was powered"
    if not np.isin(later["state"][1:], (State.IDLE, State.DONE, State.ABORTED)).all():
        yield f"{after} the experiment went on"


def _at_the_end(run: LockstepResult) -> Iterator[str]:
    """The simulated devices have no power, whatever they were told."""
    if not run.over and not len(latched(run.config, run.events)):
        yield "the experiment did not end"
    if not len(latched(run.config, run.events)) and run.ticks["cut"][-1] != 1:
        yield "the last command was no cut"
    if run.rig.driven:
        yield "the drives have power at the end"
    if run.rig.powered:
        yield "a valve has power at the end"
    fastest = float(np.abs(run.rig.plant.wheel_speed).max())
    stood_ns = run.rig.plant.t_ns - run.rig.cut_ns
    if run.rig.cut_ns >= 0 and stood_ns > STANDING_AFTER_NS and not fastest <= STANDING_RADPS:
        yield f"a wheel turns at {fastest:.2f} rad/s at the end"
