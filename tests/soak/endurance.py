"""A rig at the protocol level in real time for a long time, under load, with faults: `python tests/soak/endurance.py`.

    python tests/soak/endurance.py --minutes 30 --seed 1 --json build/endurance.json

One simulated rig, one resident controller, run after run. Beside them: processes that compute, write to the disk and
send over the loopback interface; telemetry subscribers that are slow, stopped, or die. In every other run a fault is
injected: a device drops out and comes back, an emergency stop, samples that are lost, a full disk, a computer that is
suspended, stands still for 2 s, or runs half of the time. The records lie on a small disk of their own: they fill it
until arming is refused, and are removed then.

Prints a table. Exit status 1: a period was skipped or a fault noted with no cause beside it, an injected fault was not
found, a run was neither accepted nor gave a reason, drives were powered or a wheel turned after a fault, a full
disk has cost recorded data, or a process has grown since the first minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drivers.interfaces import DeviceError
from hil.analysis.recompute import summarise_afterwards
from hil.app.resident import Resident
from hil.app.run import open_backend
from hil.app.run_loop import Signals
from hil.config import Config, load_config
from hil.config.rig import Rig
from hil.recording import read_trial
from hil.recording.reader import FILE_NAME
from hil.simulator.control_socket import wait_for
from hil.simulator.simulated_rig import read_endpoints

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import endurance_disk as disk  # noqa: E402
from endurance_findings import Found, Growth, Injected, show  # noqa: E402
from endurance_injections import DISK_FULL, INJECTIONS, Injection, Injector  # noqa: E402

SETTINGS = (
    "experiment=drive", "drive.steps=[{for_s: 6, speed_mps: 0.02}]", "realtime.measure_s=0",
    "devices.daq.e_stop=cDAQ1Mod4/port0/line0", "record.sensors=all",
)  # fmt: skip
READY_S = 200.0
WARM_UP_S = 60.0


def _silent(_: str) -> None:
    """What a run is doing is of no interest here."""


@contextmanager
def beside(folder: Path, telemetry: str) -> Iterator[None]:
    """Load, and subscribers that do not keep up, in processes of their own."""
    script = str(HERE / "endurance_load.py")
    kinds = (
        ("compute",),
        ("write", str(folder)),
        ("send",),
        ("slow", telemetry),
        ("dead", telemetry),
        ("dies", telemetry),
    )
    started = [subprocess.Popen([sys.executable, script, *kind], start_new_session=True) for kind in kinds]
    try:
        yield
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)  # with its children
            process.wait()


@dataclass
class Plan:
    """What all runs have in common: the rig, the folder of their records, for how long, and what is injected."""

    config: Config
    endpoints: Path
    folder: Path
    minutes: float
    injections: tuple[Injection, ...]
    injector: Injector


def session(plan: Plan, found: Found, growth: Growth, chance: random.Random) -> None:
    """Open the rig and make runs on it until the time is over, or the rig does not go on."""
    resident: Resident | None = None
    injection: Injection | None = None
    injected_ns: int | None = None
    folder, minutes = plan.folder, plan.minutes

    def new_folder() -> Path:
        place = folder / f"run_{found.folders:04d}"
        found.folders += 1
        place.mkdir()
        return place

    def take(summary: dict[str, Any]) -> None:
        made = injection if injected_ns is not None else None
        known = {int(one) for one in made.expected} if made else set()
        found.take(place, summary, made and Injected(made.name, known, injected_ns or 0, passes=made.passes))
        if made is DISK_FULL:
            found.take_record(place)
        what = made.name if made else "no fault"
        print(f"{found.runs}: {what}: {'; '.join(summary['reasons']) or 'done'}"[:160], flush=True)

    place = new_folder()
    found.opened += 1
    try:
        with Signals() as signals, ExitStack() as stack:
            resident = Resident(
                Rig(plan.config),
                open_backend(Rig(plan.config), place, _silent, stack, plan.endpoints),
                signals,
                _silent,
            )
            found.began = found.began or time.monotonic()
            workers = {name: process.pid for name, process in resident.rig._supervisor._processes.items()}
            while True:
                injection = chance.choice(plan.injections) if found.runs % 2 else None
                plan.injector.begin(injection, place)
                try:
                    summary = resident.run(place, figure=False).summary
                finally:
                    injected_ns = plan.injector.end()
                take(summary)
                injected_ns = None
                if not summary["reasons"] and time.monotonic() - found.began > min(WARM_UP_S, 30.0 * minutes):
                    growth.note({**workers, "loop": os.getpid()})
                if found.over(minutes):
                    return
                signals.loop = None
                resident.latched.clear()  # the operator looks, and clears each fault
                before, injection, place = folder.glob("run_*"), None, new_folder()
                resident.next_run(place)
                if found.disk_full or DISK_FULL not in plan.injections:
                    found.disk_full = False
                    for one in before:
                        if one != place:
                            shutil.rmtree(one)
    except DeviceError as error:  # after some faults a link is not used again until the rig is opened anew
        if (place / FILE_NAME).is_file() and len(read_trial(place).tick):
            take(summarise_afterwards(place, f"ended early: {error}"))
        else:
            found.take_end(str(error), opened=resident is not None)
            print(f"{'not ready for another run' if resident else 'not opened'}: {error}"[:160], flush=True)
    finally:
        found.growth = list(growth.rows())


def main(arguments: list[str] | None = None) -> int:
    """Run for so many minutes; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--small-disk", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if why := "" if asked.small_disk else disk.cannot_mount():
        print(f"no small disk can be mounted, and none is filled: {why}")
    elif not asked.small_disk:
        return disk.in_a_namespace(sys.argv[1:] if arguments is None else arguments)
    injections = (*INJECTIONS, DISK_FULL) if asked.small_disk else INJECTIONS
    found, growth, chance = Found(), Growth(), random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="hil-endurance-") as name, ExitStack() as stack:
        folder, records = Path(name), Path(name) / "records"
        if asked.small_disk:
            disk.mount(records)
            stack.callback(disk.unmount, records)
        else:
            records.mkdir()
        telemetry = f"tcp://127.0.0.1:{_free_port()}"
        settings = [*SETTINGS, f"telemetry.endpoint={telemetry}"]
        endpoints = served(settings, folder, stack)
        stack.enter_context(beside(folder, telemetry))
        injector = stack.enter_context(closing(Injector(read_endpoints(endpoints)["control"], records)))
        _suspended_by(injector)
        plan = Plan(load_config("sim_wire", settings), endpoints, records, asked.minutes, injections, injector)
        while not found.over(asked.minutes):
            session(plan, found, growth, chance)
    show(found, asked.minutes)
    if asked.json:
        asked.json.write_text(json.dumps({"minutes": asked.minutes, **asdict(found), "ok": found.ok}, indent=1))
    return 0 if found.ok else 1


def _suspended_by(injector: Injector) -> None:
    """From now on this process, the loop's, is suspended as the injector says."""
    read = time.clock_gettime_ns

    def shifted(clock: int) -> int:
        return read(clock) + (injector.suspended_ns.value if clock == time.CLOCK_BOOTTIME else 0)

    time.clock_gettime_ns = shifted


def served(settings: list[str], folder: Path, stack: ExitStack) -> Path:
    """Start the simulated rig. Returns its endpoints file."""
    endpoints = folder / "endpoints.json"
    overrides = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-P", "-m", "hil.cli", "sim", "sim_wire", "--endpoints", str(endpoints), *overrides]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    if not wait_for(lambda: endpoints.exists() or process.poll() is not None, READY_S) or not endpoints.exists():
        raise SystemExit("the simulated rig did not start")
    return endpoints


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
