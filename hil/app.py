"""Puts a rig together from its config and runs it: the only place that names concrete drivers."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hil
from drivers.base import DeviceError
from drivers.sim import FarEnd
from hil.arming import Check, arming_checks
from hil.clock import Clock, LockstepClock
from hil.config import Config
from hil.cycle import Cycle
from hil.devices import Devices
from hil.estimate.estimator import Estimator
from hil.estimate.twin import RoverTwin
from hil.gate import Gate
from hil.loop import Loop
from hil.realtime import Granted, RealtimeClock, RightsWanted, rights
from hil.record import Recorder, read_trial
from hil.rig import nominal_rig, spread
from hil.safety import Safety
from hil.scribe import Scribe
from hil.telemetry import PortBusy, Publisher
from hil.trials.state import ImpactTrial, State
from hil.trials.summary import summarise, write_summary
from models.plant import Plant

Say = Callable[[str], None]
# `hil check` waits this long for the sensors to be zeroed [s]; it takes a fifth of a second.
ZERO_WITHIN_S = 2


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the exit status of the command, and the summary as written."""

    exit_code: int
    summary: dict[str, Any]


@dataclass(frozen=True)
class Rig:
    """A rig that is ready to be opened: the far end, its devices and the loop's rooms."""

    far_end: FarEnd
    devices: Devices
    loop: Loop
    cycle: Cycle


def build_far_end(config: Config) -> FarEnd:
    """The simulated rig, perturbed by the config's seed."""
    chance = np.random.default_rng([config.seed, 0])
    parameters = nominal_rig(config).perturbed(spread(config), chance)
    return FarEnd(
        Plant(parameters, np.random.default_rng([config.seed, 1])),
        block_samples=config.daq.block_samples,
        daq_delay_ns=round(config.links.daq_delay_ms * 1e6),
        drives_delay_ns=round(config.links.drives_delay_ms * 1e6),
    )


def build_rig(config: Config, recorder: Recorder, publisher: Publisher, folder: Path) -> Rig:
    """Wire everything up; kernels compile here."""
    far_end, devices = _simulated(config)
    scribe = Scribe(recorder, publisher)
    safety = Safety(config, scribe.note)
    trial = ImpactTrial(
        config, lambda samples, estimate: arming_checks(config, samples, estimate, safety.faults, folder)
    )
    cycle = Cycle(
        devices, Estimator(config), RoverTwin(nominal_rig(config)), safety, trial, Gate(config, safety), scribe
    )
    return Rig(far_end, devices, Loop(_clock(config, far_end), cycle), cycle)


def run_trial(config: Config, folder: Path, say: Say) -> Outcome:
    """Run one impact trial and leave trial.h5, summary.json and trial.png in `folder`.

    Args:
        config: of the rig and the trial.
        folder: exists and is empty.
        say: told what is going on, a line at a time.

    Raises:
        DeviceError: a device could not be opened.
    """
    with _publisher(config, say) as publisher:
        with _recorder(config, folder) as recorder:
            say("compiling kernels (cached after the first run) and settling the rover on its soil")
            rig = build_rig(config, recorder, publisher, folder)
            warm_up(config)
            angle, speed = config.trial.angle_deg, config.trial.speed_mps
            say(f"running: {angle:g} deg at {speed:g} m/s, {config.loop.rate_hz} Hz, {config.clock}")
            began = time.perf_counter()
            try:
                rig.devices.open()
                with _stop_on_signals(rig.loop), rights(_rights_wanted(config)) as granted:
                    _note_rights(granted, recorder, say)
                    rig.loop.run()
            finally:
                rig.devices.close()
            wall_s = time.perf_counter() - began
        summary = summarise(config, rig.cycle, rig.loop.clock, rig.far_end.plant, wall_s)
        write_summary(folder, summary)
        publisher.trial(summary)
    say("drawing trial.png")
    from hil.trials.report import draw_trial  # matplotlib takes half a second to import

    draw_trial(read_trial(folder), summary, folder / "trial.png")
    trial = rig.cycle.trial
    if trial.state is State.DONE and not rig.cycle.safety.safe:
        return Outcome(0, summary)
    return Outcome(3 if trial.refused else 1, summary)


def check_rig(config: Config) -> list[Check]:
    """Zero the sensors and make the arming checks; nothing moves."""
    far_end, devices = _simulated(config)
    clock, estimator, safety = LockstepClock(far_end, config.loop.rate_hz), Estimator(config), Safety(config)
    devices.open()
    try:
        for _ in range(ZERO_WITHIN_S * config.loop.rate_hz):
            samples = devices.sample(clock.next().t_ns)
            estimate = estimator.estimate(samples)
            if estimate.zeroed:
                break
        else:
            raise DeviceError(f"DAQ: too few samples to zero the sensors within {ZERO_WITHIN_S} s; is it connected?")
        checks = [Check(link.device, link.open, link.detail, "open") for link in devices.health()]
        checks += arming_checks(config, samples, estimate, safety.faults, Path.cwd())
    finally:
        devices.close()
    checks.append(Check("Safe on a slope", True, config.drives.holds_on_slope, "stated in drives.holds_on_slope"))
    checks.append(_telemetry_check(config))
    with rights(_rights_wanted(config)) as granted:
        checks += [
            Check(f"right: {item.name}", True, item.detail, f"{item.wanted} (runs without it, and counts what is lost)")
            for item in granted
        ]
    return checks


def warm_up(config: Config) -> None:
    """Run the estimator's kernels once, so that no tick pays for compiling or loading them."""
    far_end, devices = _simulated(config)
    two_blocks_ns = round(2e6 * config.daq.block_ms)
    devices.open()
    far_end.advance(two_blocks_ns)
    samples = devices.sample(two_blocks_ns)
    estimate = Estimator(config).estimate(samples)
    RoverTwin(nominal_rig(config)).predict(samples, estimate)
    devices.close()


def _simulated(config: Config) -> tuple[FarEnd, Devices]:
    """A far end of its own, and the loop's hold on its devices."""
    far_end = build_far_end(config)
    return far_end, Devices(far_end.daq, far_end.drives, far_end.valves)


def _clock(config: Config, far_end: FarEnd) -> Clock:
    if config.clock == "lockstep":
        return LockstepClock(far_end, config.loop.rate_hz)
    return RealtimeClock(config.loop.rate_hz, config.realtime.spin_share, far_end=far_end)


def _rights_wanted(config: Config) -> RightsWanted:
    if config.clock == "lockstep":
        return RightsWanted()
    wanted = config.realtime
    return RightsWanted(
        fifo_priority=wanted.fifo_priority,
        lock_memory=wanted.lock_memory,
        awake=wanted.awake,
        timer_slack_ns=1000,
        freeze_gc=True,
    )


def _note_rights(granted: Sequence[Granted], recorder: Recorder, say: Say) -> None:
    """Each right goes into the record; a refusal is said, with what would help."""
    for item in granted:
        outcome = "granted" if item.granted else "refused"
        detail = f"{item.name}: {item.wanted}, {item.detail}"
        recorder.event(id=0, name=f"right {outcome}", tick=0, t_ns=0, detail=detail)
        if not item.granted:
            say(f"real time without {item.name} {item.wanted}: {item.detail}")


def _recorder(config: Config, folder: Path) -> Recorder:
    return Recorder(
        folder,
        meta=_meta(config),
        channels=len(config.daq.channels),
        sample_rate_hz=config.daq.rate_hz,
        flush_ns=round(config.record.flush_ms * 1e6),
        before_s=config.record.before_s,
        after_s=config.record.after_s,
    )


def _meta(config: Config) -> dict[str, str | float | int]:
    return {
        "config": config.to_yaml(),
        "config_sha256": config.sha256(),
        "version": hil.__version__,
        "clock": config.clock,
        "seed": config.seed,
        "sensitivity_VpN": ",".join(repr(channel.sensitivity_mVpN * 1e-3) for channel in config.daq.channels),
        "wall_time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _publisher(config: Config, say: Say) -> Publisher:
    """Telemetry; a port that somebody else has is a warning in simulation."""
    start = time.time()
    try:
        return Publisher(config.telemetry.endpoint, config.telemetry.rate_hz, config.loop.rate_hz, start)
    except PortBusy as busy:
        say(f"warning: no telemetry, {busy}")
        return Publisher("", config.telemetry.rate_hz, config.loop.rate_hz, start)
    except ValueError as error:
        raise DeviceError(str(error)) from None


def _telemetry_check(config: Config) -> Check:
    warnings: list[str] = []
    _publisher(config, warnings.append).close()
    found = "; ".join(warnings) or config.telemetry.endpoint or "off"
    return Check("telemetry port", True, found, "free (a warning in simulation)")


@contextmanager
def _stop_on_signals(loop: Loop) -> Iterator[None]:
    """Ctrl-C, a hang-up and a polite kill end the run in Safe, with its record closed."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(number: int, _frame: object) -> None:
        loop.stop(f"operator: {signal.Signals(number).name}")

    try:
        before = {number: signal.signal(number, stop) for number in numbers}
    except ValueError:  # not the main thread: whoever runs us there handles signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
