"""Makes the real drivers of a config; a worker runs that of one link."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivers.device_sections import DeviceSection
from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, PolledDevice, StopFrames
from drivers.registry import driver_of
from hil.config import Config
from hil.config.error_messages import problems_of
from hil.config.rig_setup import rig_setup
from hil.config.schema.devices import DevicesConfig
from hil.ipc.run_memory import CommandedHost, RunMemory, WokenComputer, read_stops
from hil.messages.layout import COMMANDED, ROLES
from hil.processes.lifecycle import Reporter
from hil.processes.link import LinkWorker
from hil.processes.link_bridge import Feed, LinkBridge, feed_of
from hil.realtime import RealtimeRight, RightsWanted, rights


class DriverFactory:
    """Makes the drivers of one rig.

    Args:
        devices: section of the config, with all ports; each device that is made is in it.
        rig: what the drivers have to know of the rig.
        alive: called while a driver waits.
        host: whose clock and ports are used.
    """

    def __init__(
        self, devices: DevicesConfig | None, rig: RigSetup, alive: Alive = lambda: None, host: Host = COMPUTER
    ) -> None:
        assert devices is not None  # ensured by the checks of the config
        self._devices, self._setup = devices, rig
        self._host, self._alive = host, alive

    def device(self, role: str) -> Any:
        """The device of a role, not opened yet. Raises DeviceError: it cannot work as set."""
        section: DeviceSection = getattr(self._devices, role)
        with _refusal_reported(f"devices.{role}"):
            return driver_of(section).make(section, self._setup, self._host, self._alive)

    def stop_frames(self) -> Mapping[str, Sequence[StopFrames]]:
        """Frames that stop each link without its driver, by the link's name."""
        return {name: self.device(name).stop_frames() for name in COMMANDED if getattr(self._devices, name)}


def open_link(name: str, shared: RunMemory, alive: Alive, host: Host = COMPUTER) -> tuple[PolledDevice, Feed]:
    """Open a device by the name of its link; the device, and its feed to shared memory. Raises DeviceError."""
    device = DriverFactory(shared.config.devices, rig_setup(shared.config), alive, host).device(name)
    feed = feed_of(shared, name, device)
    device.open()
    return device, feed


def at_endpoints(config: Config, endpoints: Mapping[str, str]) -> Config:
    """The same config with the ports of a simulated rig.

    Raises:
        DeviceError: the rig has fewer ports than the config needs, or they are not valid.
    """
    raw = config.model_dump(mode="json")
    assert config.devices is not None
    for section in config.devices.sections():
        try:
            driver_of(section).at_endpoints(raw["devices"][section.role], endpoints)
        except KeyError as error:
            found = f"it has no {error}, which the config's {section.role} need"
            raise DeviceError(f"simulated rig: {found}; start one from this config") from error
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        wrong = "; ".join(str(problem) for problem in problems_of(error))
        raise DeviceError(f"simulated rig: endpoints that are not valid: {wrong}") from error


@contextmanager
def _refusal_reported(key: str) -> Iterator[None]:
    """Turn the ValueError of a driver that refuses its settings into a DeviceError that names the config's key."""
    try:
        yield
    except ValueError as error:
        raise DeviceError(f"{key}: {error}") from error


# How long a worker waits for the watchdog's descriptors [ns], and its pause between two looks [s].
STOP_PORTS_NS, LOOK_S = 30_000_000_000, 0.002


def run_link(lifecycle: Reporter, run: Path, name: str) -> None:
    """Serve one link of a run until asked to end."""
    if name not in ROLES:
        raise SystemExit(f"a link is one of {', '.join(ROLES)}, not {name}")
    shared = RunMemory(run)
    wanted = shared.config.realtime
    asked = RightsWanted(
        fifo_priority=max(wanted.fifo_priority - ROLES[name].below_loop, 1) if wanted.fifo_priority else 0,
        lock_memory=wanted.lock_memory,
        timer_slack_ns=round(wanted.timer_slack_us * 1e3),
        freeze_gc=True,
        threads=True,
    )
    if read_stops(shared).get(name):
        await_stop_ports(shared, lifecycle, COMPUTER)
    with rights(asked) as granted:  # before the device is opened: its library may start threads then
        host = WokenComputer(shared.wake_ups[name]) if name in shared.wake_ups else COMPUTER
        serve(name, shared, lifecycle, granted, host, opened=gc.freeze)


def await_stop_ports(shared: RunMemory, lifecycle: Reporter, host: Host) -> None:
    """Wait until the watchdog has opened its own descriptors: once a driver has a port, nobody can any more.

    Not for ever: without a watchdog this run does not begin, and who has started it says why.
    """
    until_ns = host.now_ns() + STOP_PORTS_NS
    while not (shared.heartbeat.last_ns("watchdog") or lifecycle.ending or host.now_ns() > until_ns):
        host.sleep(LOOK_S)


def serve(
    name: str,
    shared: RunMemory,
    lifecycle: Reporter,
    granted: Sequence[RealtimeRight] = (),
    host: Host = COMPUTER,
    opened: Callable[[], None] = lambda: None,
) -> None:
    """Open the device of a link and serve it until asked to end. `opened`: called once the device is open."""

    def alive() -> None:
        if last_ns := shared.heartbeat.last_ns(name):  # it is watched, and may have been given time to open its device
            shared.heartbeat.beat(name, max(host.now_ns(), last_ns))

    commanded = CommandedHost(host)
    try:
        device, feed = open_link(name, shared, alive, commanded)
    except DeviceError as error:
        lifecycle.report(error=str(error))
        return
    opened()
    try:
        lifecycle.ready(granted, detail=device.health().detail)
        worker = LinkWorker(name, shared, device, LinkBridge(shared, name, feed), lifecycle, commanded)
        commanded.take_commands = worker.take_commands
        worker.run()
    finally:
        device.close()
