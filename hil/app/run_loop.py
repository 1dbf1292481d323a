"""One run of a rig's loop, from opening its devices to closing its record, and the signals that end it early."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self

from drivers.sim.in_process_rig import InProcessRig
from hil.app.backend import Backend
from hil.config.rig import Rig
from hil.config.schema.equipment import RealtimeConfig
from hil.config.text_io import write_yaml
from hil.experiments.registry import experiment_named
from hil.messages.layout import Layout
from hil.messages.operator_input import OperatorSource
from hil.realtime import RealtimeRight, RightsWanted, rights
from hil.runtime.loop import Loop
from hil.runtime.rig_io import RigIO
from hil.version import running_version

Progress = Callable[[str], None]


def run_loop(
    backend: Backend,
    signals: Signals,
    progress: Progress,
    what: str = "",
    *,
    wanted: RightsWanted,
    refuse: Callable[[Sequence[RealtimeRight], Progress], None] = lambda *_: None,
) -> float:
    """Run the loop until its trial is over; then the devices are stopped and the record is closed, whatever happens.

    Args:
        backend: ready to run.
        signals: that end it early, in Safe.
        progress: receives progress lines.
        what: description of the run, reported once it runs.
        wanted: the rights to request from the kernel.
        refuse: raises if the machine cannot hold the loop's rate with the granted rights; by default never.

    Returns:
        How long the loop ran [s].

    Raises:
        DeviceError: a device could not be opened, or nothing was recorded.
        NotArmedError: without real-time rights, this machine does not hold the loop's rate.
    """
    try:
        backend.rig_io.open()
        signals.loop = backend.loop
        with rights(wanted) as granted:
            _note_rights([*granted, *backend.granted()], backend, progress)
            refuse(granted, progress)
            if what:
                progress(f"running: {what}")
            backend.start_clock()
            began = time.perf_counter()
            backend.loop.run()
            wall_s = time.perf_counter() - began
            backend.hold()
    finally:
        backend.rig_io.close()
    backend.close_record()
    return wall_s


def _note_rights(granted: Sequence[RealtimeRight], backend: Backend, progress: Progress) -> None:
    """Record each right; report a refusal with a remedy."""
    for item in granted:
        outcome = "granted" if item.granted else "refused"
        detail = f"{item.name}: {item.wanted}, {item.detail}"
        backend.cycle.tick_logger.log_event(f"right {outcome}", detail)
        if not item.granted:
            progress(f"real time without {item.name} {item.wanted}: {item.detail}")


class Signals:
    """SIGINT (Ctrl-C), SIGHUP and SIGTERM end a run in Safe, with its record closed.

    Before there is a loop, the first signal raises KeyboardInterrupt. Further signals have no effect. One that comes
    while a run is concluded lets it be concluded, and ends what would follow.

    Attributes:
        loop: the loop to stop.
        ended: there was a signal.
        missed: there was one for which no run has ended, because its last tick was over.
    """

    def __init__(self) -> None:
        self.loop: Loop | None = None
        self.ended = self.missed = self._interrupted = False
        self._number = 0
        self._before: dict[int, Any] = {}

    def _stop(self, number: int, _frame: object) -> None:
        self.ended, self._number = True, number
        if self.loop:
            self.loop.stop(f"operator: {signal.Signals(number).name}")
        elif not self._interrupted:
            self._interrupted = True
            raise KeyboardInterrupt

    def release(self) -> None:
        """The run is concluded, or has failed: from now on there is no loop to stop."""
        loop, self.loop = self.loop, None
        self.missed = self.missed or (self.ended and loop is not None and loop.missed_stop)

    def pass_on(self) -> None:
        """Hand a missed signal to whoever handles signals now, after the run. Raises KeyboardInterrupt: nobody does."""
        if not self.missed:
            return
        handler = signal.getsignal(self._number)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(self._number, None)

    def __enter__(self) -> Self:
        with suppress(ValueError):  # not the main thread: the caller handles signals
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        for number, handler in self._before.items():
            signal.signal(number, handler)


def simulated_rig_io(layout: Layout, simulated_rig: InProcessRig, operator: OperatorSource | None = None) -> RigIO:
    """The loop's interface to the devices of a simulated rig in the loop's process, and to an operator elsewhere."""
    return RigIO(layout, {link: simulated_rig.devices[link] for link in layout.links}, operator)


def record_meta(rig: Rig, *, attended: bool = False) -> dict[str, str | float | int]:
    """Contents of `/meta` of the record; `calibration`, if there is one, as in its file."""
    config = rig.config
    device = config.devices.daq if config.devices else None
    sheets = device.calibration.model_dump(mode="json", exclude_none=True) if device and device.calibration else None
    return {
        "config": config.to_yaml(),
        "config_sha256": config.sha256(),
        "version": running_version(),
        "clock": config.clock,
        "seed": config.seed,
        "experiment": config.experiment,
        "attended": int(attended),
        "states": ",".join(
            f"{state.value}={state.name.lower()}" for state in experiment_named(config.experiment).states
        ),
        "layout": config.layout.to_json(),
        "sensitivity_VpN": ",".join(repr(sensitivity * 1e-3) for sensitivity in config.plate_sensitivities_mVpN),
        **({"calibration": write_yaml(sheets)} if sheets else {}),
        "wall_time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def rights_wanted(realtime: RealtimeConfig, clock: str, rig: str) -> RightsWanted:
    """The rights that the loop requests from the kernel: none in virtual time."""
    if clock == "lockstep":
        return RightsWanted()
    wanted = realtime
    return RightsWanted(
        fifo_priority=wanted.fifo_priority,
        lock_memory=wanted.lock_memory,
        cpus=wanted.cpus,
        awake=wanted.awake,
        timer_slack_ns=round(wanted.timer_slack_us * 1e3),
        freeze_gc=True,
        no_suspend=rig == "real",
    )
