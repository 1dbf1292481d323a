"""One run of a rig's loop, and what has to stand behind the loop for it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from drivers.host import COMPUTER, Host
from drivers.sim.in_process_rig import InProcessRig
from hil.config.rig import Rig
from hil.config.schema.equipment import RealtimeConfig
from hil.config.text_io import write_yaml
from hil.experiments.registry import experiment_named
from hil.ipc.run_memory import RunMemory
from hil.messages.fault import Event
from hil.messages.layout import Layout
from hil.messages.operator_input import OperatorSource
from hil.processes.lifecycle import Process
from hil.processes.supervisor import Launch
from hil.realtime import RealtimeRight, RightsWanted, rights
from hil.realtime.clock import RealtimeClock
from hil.runtime.loop import Cycle, Loop
from hil.runtime.rig_io import RigIO
from hil.simulator.control_socket import RigControl
from hil.simulator.ground_truth import GroundTruth
from hil.simulator.simulated_rig import Endpoints, connect
from hil.version import running_version


class Backend(Protocol):
    """A rig that is ready to run, and after a run can be made ready for another."""

    rig_io: RigIO
    cycle: Cycle
    loop: Loop

    @property
    def ground_truth(self) -> GroundTruth:
        """What only a simulated rig can tell."""

    def granted(self) -> Sequence[RealtimeRight]:
        """Rights of the processes but that of the loop."""

    def plant_loop(self) -> dict[str, Any] | None:
        """How a simulated rig in its own process kept up; None where it has none."""

    def links(self) -> dict[str, Any] | None:
        """Health of each link to real devices, by its name; None where there is none."""

    def start_clock(self) -> None:
        """Time begins now."""

    def hold(self) -> None:
        """The loop has ended: whoever has the devices stops them and holds them so, and nobody misses the loop."""

    def close_record(self) -> None:
        """The run is over and the devices are held: finish the record. Raises DeviceError: there is none."""

    def lost(self) -> str:
        """Between two runs: which of its processes are gone, in words; empty: none is, and it can run again."""

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Tell viewers how it ended."""

    def next_run(
        self, folder: Path, latched: Sequence[Event], rig: Rig | None = None, *, attended: bool | None = None
    ) -> None:
        """Make it ready for a run in another folder, with new devices, cycle and loop.

        Args:
            folder: of that run; exists and is empty.
            latched: faults that nobody has cleared.
            rig: of that run and those that follow, the same with the same layout; None: as before.
            attended: an operator arms and starts them; None: as before.

        Raises:
            DeviceError: it cannot run again.
        """


@dataclass(frozen=True)
class Platform:
    """Without arguments it is this computer; `hil.app.virtual` makes the other.

    Attributes:
        host: clock and ports of the loop process.
        launch: starts a worker.
        connect: finds or starts a simulated rig at the protocol level, as `hil.simulator.control_socket.connect`.
        waker: a function that wakes the worker of a link, by its name.
        make_clock: of the loop, from its rate [Hz] and the share of a period that may be spent spinning.
        boottime: the clock that goes on while the computer is suspended [ns].
    """

    host: Host = COMPUTER
    launch: Launch = Process
    connect: Callable[[Rig, Path | None, ExitStack], tuple[Endpoints, RigControl]] = connect
    waker: Callable[[RunMemory, str], Callable[[], None]] = lambda shared, name: shared.wake_ups[name].wake
    make_clock: Callable[[int, float], RealtimeClock] = RealtimeClock
    boottime: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)


THIS_COMPUTER = Platform()


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
