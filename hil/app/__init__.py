"""Runs a rig as its config says: the only place that names concrete drivers."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from drivers.base import DeviceError
from hil.app.build import build_far_end, rights_wanted, simulated_devices
from hil.app.rigs import LockstepRig, RealtimeRig, Rig
from hil.arming import Check, arming_checks, disk_check
from hil.clock import LockstepClock
from hil.config import Config
from hil.estimate.estimator import Estimator
from hil.loop import Loop
from hil.realtime import Granted, rights
from hil.record import read_trial
from hil.safety import Safety
from hil.telemetry import open_publisher
from hil.trials.state import State
from hil.trials.summary import summarise, write_summary

Say = Callable[[str], None]
# `hil check` waits this long for the sensors to be zeroed [s]; it takes a fifth of a second.
ZERO_WITHIN_S = 2


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the exit status of the command, and the summary as written."""

    exit_code: int
    summary: dict[str, Any]


def open_rig(config: Config, folder: Path, say: Say, stack: ExitStack) -> Rig:
    """A rig that is ready to run; `stack` closes it. Raises DeviceError."""
    kind = LockstepRig if config.clock == "lockstep" else RealtimeRig
    return kind(config, folder, say, stack)


def run_trial(config: Config, folder: Path, say: Say) -> Outcome:
    """Run one impact trial and leave trial.h5, summary.json and trial.png in `folder`.

    Args:
        config: of the rig and the trial.
        folder: exists and is empty.
        say: told what is going on, a line at a time.

    Raises:
        DeviceError: a device could not be opened, or a worker could not begin.
    """
    with _Signals() as signals, ExitStack() as stack:
        rig = open_rig(config, folder, say, stack)
        angle, speed = config.trial.angle_deg, config.trial.speed_mps
        say(f"running: {angle:g} deg at {speed:g} m/s, {config.loop.rate_hz} Hz, {config.clock}")
        try:
            rig.devices.open()
            signals.loop = rig.loop
            with rights(rights_wanted(config)) as granted:
                _note_rights([*granted, *rig.granted()], rig, say)
                rig.begin()
                began = time.perf_counter()
                rig.loop.run()
                wall_s = time.perf_counter() - began
                rig.unwatch()
        finally:
            rig.devices.close()
        rig.close_record()
        record = read_trial(folder)
        summary = summarise(config, rig.cycle, rig.loop.clock, rig.truth, record.timing, rig.far_end_loop(), wall_s)
        write_summary(folder, summary)
        rig.publish(summary)
    say("drawing trial.png")
    from hil.trials.report import draw_trial  # matplotlib takes half a second to import

    draw_trial(record, summary, folder / "trial.png")
    trial = rig.cycle.trial
    if trial.state is State.DONE and not rig.cycle.safety.safe:
        return Outcome(0, summary)
    return Outcome(3 if trial.refused else 1, summary)


def check_rig(config: Config) -> list[Check]:
    """Zero the sensors and make the arming checks; nothing moves."""
    far_end = build_far_end(config)
    devices = simulated_devices(far_end)
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
        checks += [*arming_checks(config, samples, estimate, safety.faults), disk_check(Path.cwd())]
    finally:
        devices.close()
    checks.append(Check("Safe on a slope", True, config.drives.holds_on_slope, "stated in drives.holds_on_slope"))
    checks.append(_telemetry_check(config))
    with rights(rights_wanted(config)) as granted:
        checks += [
            Check(f"right: {item.name}", True, item.detail, f"{item.wanted} (runs without it, and counts what is lost)")
            for item in granted
        ]
    return checks


def _note_rights(granted: Sequence[Granted], rig: Rig, say: Say) -> None:
    """Each right goes into the record; a refusal is said, with what would help."""
    for item in granted:
        outcome = "granted" if item.granted else "refused"
        detail = f"{item.name}: {item.wanted}, {item.detail}"
        rig.cycle.scribe.tell(f"right {outcome}", detail)
        if not item.granted:
            say(f"real time without {item.name} {item.wanted}: {item.detail}")


def _telemetry_check(config: Config) -> Check:
    warnings: list[str] = []
    open_publisher(config, warnings.append).close()
    found = "; ".join(warnings) or config.telemetry.endpoint or "off"
    return Check("telemetry port", True, found, "free (a warning in simulation)")


class _Signals:
    """Ctrl-C, a hang-up and a polite kill end a run in Safe, with its record closed.

    Before there is a loop, the first of them interrupts; what comes once the run is being ended changes nothing.

    Attributes:
        loop: is told to stop.
    """

    def __init__(self) -> None:
        self.loop: Loop | None = None
        self._interrupted = False
        self._before: dict[int, Any] = {}

    def _stop(self, number: int, _frame: object) -> None:
        if self.loop:
            self.loop.stop(f"operator: {signal.Signals(number).name}")
        elif not self._interrupted:
            self._interrupted = True
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        with suppress(ValueError):  # not the main thread: whoever runs us there handles signals
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
