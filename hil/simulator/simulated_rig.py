"""Builds a simulated rig from its config, runs it in a separate process and in real time, and connects a run to it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from drivers.interfaces import DeviceError
from drivers.registry import driver_of
from drivers.sim.devices import PowerModel
from drivers.sim.in_process_rig import InProcessRig
from hil.config.files import read_json
from hil.config.rig import Rig
from hil.config.schema.equipment import DrivesConfig
from hil.ipc.run_memory import LatenessLog, RunMemory
from hil.ipc.shared_types import GROUND_TRUTH, MOST_ROWS, START
from hil.ipc.shm import Mailbox
from hil.processes.lifecycle import Process, WorkerLifecycle
from hil.processes.link_bridge import LinkBridge, feed_of
from hil.realtime import RightsWanted, rights
from hil.realtime.clock import RealtimeClock
from hil.realtime.histogram import Histogram
from hil.simulator.control_socket import ControlClient, wait_for
from hil.simulator.ground_truth import GroundTruth, packed
from models.plant import Plant
from models.plant.capture_plant import CapturePlant
from models.plant.validity_watch import EVERY_NS
from models.terrain import GivenContacts

READY_S = 120.0
END_S = 15.0
_MOST_BYTES = 2**16  # of an endpoints file
NAMES = ("control",)  # every rig has it; `at_endpoints` checks the rest
_HOW = "`hil sim CONFIG --endpoints FILE` writes them"

Progress = Callable[[str], None]
Endpoints = Mapping[str, str]


def connect(rig: Rig, endpoints: Path | None, stack: ExitStack) -> tuple[Endpoints, ControlClient]:
    """Connect to a simulated rig and put its rover at the start of the config's trial; endpoints and control client.

    `endpoints` is the file of a running rig (`hil sim --endpoints`); None: a new rig is started, which `stack` stops.

    Raises DeviceError: there is no rig, or it could not start.
    """
    addresses = read_endpoints(endpoints or spawn_simulator(rig.config.model_dump_json(), stack))
    control = stack.enter_context(ControlClient(addresses["control"]))
    control.ask("place", angle_deg=rig.config.trial.angle_deg, seed=rig.config.seed)
    return addresses, control


def spawn_simulator(config: str, stack: ExitStack) -> Path:
    """Start the rig of a config (JSON) that `stack` stops; its endpoints file. Raises DeviceError: it did not start."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-trial-")))
    source, endpoints = folder / "config.json", folder / "endpoints.json"
    source.write_text(config, encoding="utf-8")
    process = Process("rig_server", str(source), str(endpoints))
    stack.callback(process.end, END_S)
    wait_for(lambda: endpoints.exists() or process.status() is not None, READY_S)
    if not endpoints.exists():
        reason = process.receive(0.0).get("error", "see its output above")
        raise DeviceError(f"simulated rig: it could not start: {reason}")
    return endpoints


def read_endpoints(path: Path) -> Endpoints:
    """The endpoints in a file written by `hil sim --endpoints`. Raises DeviceError."""
    try:
        addresses = read_json(path, _MOST_BYTES)
        missing = [key for key in NAMES if not isinstance(addresses.get(key), str)]
    except (OSError, ValueError, AttributeError) as error:
        raise DeviceError(f"{path}: not an endpoints file of a simulated rig ({error}); {_HOW}") from error
    if missing:
        raise DeviceError(f"{path}: endpoints without {', '.join(missing)}; {_HOW}")
    return dict(addresses)


def build_plant(rig: Rig, *, accounts: bool = False, contacts: GivenContacts | None = None) -> Plant:
    """The plant of a simulated rig, perturbed by the config's seed; with `accounts` it notes its energies.

    `contacts` are those of its wheels, if they come from outside.
    """
    chance = np.random.default_rng([rig.config.seed, 1])
    kind = Plant if rig.simulated.capture is None else CapturePlant
    return kind(
        rig.simulated,
        chance,
        accounts=accounts,
        notes_loads=rig.layout.controls_loads,
        tilt_deg=rig.limits.tilt_deg,
        contacts=contacts,
    )


def build_simulated_rig(rig: Rig) -> InProcessRig:
    """The simulated rig with the controller's device interfaces."""
    config, plant = rig.config, build_plant(rig)
    sections = config.devices.sections() if config.devices else ()
    return InProcessRig(
        plant,
        block_samples=config.daq.block_samples if config.daq else 0,
        daq_delay_ns=round(config.links.daq_delay_ms * 1e6),
        drives_delay_ns=round(config.links.drives_delay_ms * 1e6),
        load_block_samples=config.loads.block_samples if config.loads else 0,
        power=power_model(config.drives)._replace(supplies=supplies)
        if (supplies := len(config.layout.supplies))
        else None,
        servo_torque_per_A=config.servos.torque_per_A_Nm if config.servos and config.layout.servo_currents else None,
        instrument_delays_ns={role: round(one.delay_ms * 1e6) for role, one in config.instruments.items()},
        further={one.role: driver_of(one).in_process(one, plant) for one in sections if one.parts},
    )


def power_model(drives: DrivesConfig) -> PowerModel:
    """Currents and supply of the simulated drives."""
    return PowerModel(*drives.power.model_dump().values())


def warm_up_simulated_rig(rig: Rig, simulated_rig: InProcessRig) -> int:
    """Run every kernel of a simulated rig once: two blocks, and a look at its validity.

    Returns the simulated time reached [ns].
    """
    daq = rig.config.daq
    to_ns = max(round(2e6 * daq.block_ms) if daq else 0, EVERY_NS)
    simulated_rig.advance(to_ns)
    simulated_rig.plant.effective_kinetic_energies_now()  # the first call takes 20 ms, and comes at the impact
    return to_ns


# Below the loop, whose commands it executes.
BELOW_LOOP = 10
# Its ticks are half a period after the loop's, so that the two do not compete for CPU time.
PHASE = 0.5
_POLL_NS = 1_000_000


def run_simulated_rig(lifecycle: WorkerLifecycle, run: Path) -> None:
    """Run the simulated rig in real time, each run from its start position, until this process is asked to end."""
    shared = RunMemory(run)
    wanted = shared.config.realtime

    from hil.config.rig import Rig  # compiles kernels, and so does what follows

    rig = Rig(shared.config)
    warm_up_simulated_rig(rig, build_simulated_rig(rig))
    simulated_rig = build_simulated_rig(rig)
    asked = RightsWanted(
        fifo_priority=max(wanted.fifo_priority - BELOW_LOOP, 1) if wanted.fifo_priority else 0,
        lock_memory=wanted.lock_memory,
        timer_slack_ns=round(wanted.timer_slack_us * 1e3),
        freeze_gc=True,
    )
    runs = _Runs(shared, lifecycle)
    with rights(asked) as granted:
        lifecycle.ready(granted)
        while (start_ns := runs.next_start_ns()) is not None:
            _move(simulated_rig, shared, runs, start_ns)
            shared.heartbeat.rest("simulated_rig")
            runs.report_held()
            simulated_rig = build_simulated_rig(rig)
            lifecycle.report(placed=True)


def _move(simulated_rig: _BuiltRig, shared: RunMemory, runs: _Runs, start_ns: int) -> None:
    """One run, with t_ns = 0 at `start_ns` [ns of CLOCK_MONOTONIC]."""
    devices = {name: simulated_rig.devices[name] for name in shared.config.layout.links}
    in_use = [feed_of(shared, name, device) for name, device in devices.items()]
    for feed in in_use:
        feed.skip()
    bridge = LinkBridge(shared, "simulated_rig", *in_use)
    for device in devices.values():
        device.open()
    truth_publisher = GroundTruthPublisher(shared.ground_truth, simulated_rig.plant, histories=shared.histories)
    moved = LatenessLog(shared.late).of("plant")
    rate_hz = shared.config.loop.rate_hz
    offset_ns = round(PHASE * 1e9 / rate_hz)
    clock = RealtimeClock(rate_hz)
    clock.start_ns = start_ns + offset_ns
    while not runs.over:
        tick = clock.next()
        t_ns = tick.t_ns + offset_ns
        simulated_rig.advance(t_ns)
        bridge.publish_samples(t_ns)
        bridge.apply_commands(t_ns, tick.began_ns)  # last: a command must not affect earlier samples
        done_ns = time.monotonic_ns()
        moved(clock.due_ns, done_ns)
        truth_publisher.publish(clock, done_ns - tick.began_ns)
        shared.heartbeat.beat("simulated_rig", done_ns)
    bridge.hold(simulated_rig.plant.t_ns)
    truth_publisher.publish_final()


class _BuiltRig(Protocol):
    """The result of `hil.simulator.simulated_rig.build_simulated_rig`."""

    @property
    def plant(self) -> Plant:
        """The simulated rover and ground."""

    @property
    def devices(self) -> Mapping[str, Any]:
        """Its devices, by role."""

    def advance(self, t_ns: int) -> None:
        """Advance to a time of the run [ns]."""


class _Runs:
    """When runs begin and end, as reported by the loop.

    Attributes:
        version: of the newest report.
    """

    def __init__(self, shared: RunMemory, lifecycle: WorkerLifecycle) -> None:
        self._shared, self._lifecycle = shared, lifecycle
        self._start = np.zeros(1, START)
        self._start["over"] = 1
        self._held = False  # reported since the last run
        self.version = 0

    @property
    def over(self) -> bool:
        """The run is over, or this process is to end."""
        self.version = self._shared.start.read(self._start)
        return self._lifecycle.ending or bool(self._start["over"][0])

    def next_start_ns(self) -> int | None:
        """Wait until shortly before a run starts. Returns its t_ns = 0 [ns of CLOCK_MONOTONIC]; None: asked to end."""
        while not self._lifecycle.ending:
            now_ns = time.monotonic_ns()
            if not self.over and now_ns >= int(self._start["start_ns"][0]) - 2 * _POLL_NS:
                self._held = False
                return int(self._start["start_ns"][0])
            if self.over and self.version and not self._held:  # held before it has made a run: it is where it starts
                self.report_held()
                self._lifecycle.report(placed=True)
            self._shared.heartbeat.beat("simulated_rig", now_ns)
            time.sleep(_POLL_NS * 1e-9)
        return None

    def report_held(self) -> None:
        """Report that nothing moves since the newest report of the loop."""
        self._held = True
        self._lifecycle.report(held=self.version)


class _Counters(Protocol):
    """Counts of a clock: ticks, those that were late, and periods skipped."""

    ticks: int
    late: int
    skipped: int


class GroundTruthPublisher:
    """Publishes values known only to the simulated rig.

    t = 0 of the plant is `start_ns` on the clock of the published times [ns].
    """

    def __init__(
        self, mailbox: Mailbox, plant: Plant, start_ns: int = 0, histories: Mapping[str, Mailbox] = {}
    ) -> None:
        self._mailbox, self._plant, self._start_ns = mailbox, plant, start_ns
        self._row = np.zeros(1, GROUND_TRUTH)
        self._histories = [(name, box, np.zeros(1, box.dtype)) for name, box in histories.items()]
        self._costs = Histogram()
        self._published: tuple[object, ...] = ()
        self._ground_truth = GroundTruth()
        self._publish()  # of a run before this one nothing is true any more

    def publish(self, clock: _Counters, cost_ns: int) -> None:
        """Called in each tick of the rig: publish the values that change at once, and the duration of the tick."""
        plant, row = self._plant, self._row
        self._costs.add(cost_ns)
        now = plant.contact_force_peak, plant.hit_ns, plant.cut_ns, plant.outside
        if now != self._published:
            self._published, (peak, hit_ns, cut_ns, outside) = now, now
            self._ground_truth = replace(
                self._ground_truth, contact_force_peak=peak, hit_ns=hit_ns, hit_speed=plant.hit_speed, cut_ns=cut_ns,
                outside=outside,
            )  # fmt: skip
            row["content"] = packed(self._ground_truth, self._start_ns)
        row["ticks"], row["late"], row["skipped"] = clock.ticks, clock.late, clock.skipped
        self._mailbox.write(row)

    def publish_final(self) -> None:
        """Called at the end, or now and then: publish the values that take longer to compute."""
        if costs := self._costs.summary_us():
            self._row["cost_us"] = list(costs.values())
        self._ground_truth = GroundTruth.of(self._plant, self._ground_truth)
        self._publish()

    def _publish(self) -> None:
        """All of it; of the histories the newest rows, as many as there is room for."""
        self._row["content"] = packed(self._ground_truth, self._start_ns)
        self._mailbox.write(self._row)
        for name, mailbox, row in self._histories:
            rows = getattr(self._ground_truth, name)
            kept = () if rows is None else rows[-MOST_ROWS:]
            row["count"] = len(kept)
            if len(kept):
                row["rows"][0, : len(kept)] = kept
                row["rows"][0, : len(kept), 0] += self._start_ns * 1e-9
            mailbox.write(row)
