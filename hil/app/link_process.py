"""The worker of a link: it opens the device and serves it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path

from drivers.host import COMPUTER, Host
from drivers.interfaces import DeviceError
from hil.app.driver_factory import open_link
from hil.ipc.run_memory import RunMemory, read_stops
from hil.ipc.wake_up import CommandedHost, WokenComputer
from hil.messages.layout import ROLES
from hil.processes.lifecycle import Reporter
from hil.processes.link import LinkWorker
from hil.processes.link_bridge import LinkBridge
from hil.realtime import RealtimeRight, RightsWanted, rights

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
