"""A rig at the protocol level in real time for a long time, under load, with faults: `python tests/soak/endurance.py`.

    python tests/soak/endurance.py --minutes 30 --seed 1 --json build/endurance.json

One simulated rig, one resident controller, run after run. Beside them: processes that compute, write to the disk and
send over the loopback interface; telemetry subscribers that are slow, stopped, or die. In every other run a fault is
injected: a device drops out and comes back, an emergency stop, samples that are lost, a record that cannot be written.

Prints a table. Exit status 1: a period was skipped or a fault noted with no cause beside it, an injected fault was not
found, or a process has grown since the first minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drivers.interfaces import DeviceError
from hil.analysis.afterwards import summarise_afterwards
from hil.app.resident import Resident
from hil.app.run import open_backend
from hil.app.run_loop import Signals
from hil.config import Config, load_config
from hil.ipc.shared_types import START
from hil.messages.fault import Fault
from hil.recording import read_trial
from hil.recording.reader import FILE_NAME
from hil.simulator.control_socket import ControlClient, wait_for

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from endurance_findings import Found, Growth, show  # noqa: E402

SETTINGS = (
    "experiment=drive", "drive.steps=[{for_s: 6, speed_mps: 0.02}]", "realtime.measure_s=0",
    "devices.daq.e_stop=cDAQ1Mod4/port0/line0", "record.sensors=all",
)  # fmt: skip
INJECT_AFTER_S = 2.5
BACK_AFTER_S = 1.0
READY_S = 200.0
WARM_UP_S = 60.0
Act = Callable[["Round"], None]


@dataclass
class Injection:
    """A fault to be injected, and the faults that tell of it."""

    name: str
    expected: frozenset[Fault]
    act: Act
    mend: Act = lambda _: None
    reopens: bool = False  # the rig does not go on after it


@dataclass
class Round:
    """One run: the rig that it is made on."""

    control: ControlClient
    recorder: int
    folder: Path


def _device(device: str, kind: str, **how: Any) -> Act:
    return lambda made: made.control.ask("inject_fault", device=device, kind=kind, **how) and None


def _press(pressed: bool) -> Act:
    return lambda made: made.control.ask("e_stop", device="daq", pressed=pressed) and None


def _fill_disk(made: Round) -> None:
    """The record cannot grow any more: each write of the recorder fails, as on a full disk."""
    size = (made.folder / FILE_NAME).stat().st_size
    _, most = resource.prlimit(made.recorder, resource.RLIMIT_FSIZE)
    resource.prlimit(made.recorder, resource.RLIMIT_FSIZE, (size, most))


LOST = frozenset({Fault.LINK_LOST, Fault.PROCESS_LOST, Fault.SENSOR_STALE})
INJECTIONS = (
    Injection("drives unplugged, back", LOST, _device("roboclaw", "disconnect"), _device("roboclaw", "reconnect")),
    Injection("valves unplugged, back", LOST, _device("modbus", "disconnect"), _device("modbus", "reconnect")),
    Injection("drives silent, back", LOST, _device("roboclaw", "off"), _device("roboclaw", "reconnect")),
    Injection("drives' answers damaged", LOST | {Fault.FRAMES_DAMAGED},
              _device("roboclaw", "garbage", count=100_000, every=1), _device("roboclaw", "reconnect")),
    Injection("samples lost", frozenset({Fault.SAMPLES_LOST, Fault.SENSOR_DROPOUT, Fault.LINK_LOST}),
              _device("daq", "error", code=-200279), _device("daq", "reconnect")),
    Injection("emergency stop", frozenset({Fault.STOP_BY_OPERATOR}), _press(True), _press(False)),
    Injection("record cannot grow", frozenset({Fault.DISK_FULL, Fault.RECORD_RING_FULL, Fault.PROCESS_LOST}),
              _fill_disk, reopens=True),
)  # fmt: skip


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
    started = [subprocess.Popen([sys.executable, script, *kind]) for kind in kinds]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def made_run(resident: Resident, folder: Path, control: ControlClient, injection: Injection | None) -> dict[str, Any]:
    """Make a run, and inject the fault in its middle. Returns its summary."""
    made = Round(control, resident.rig._supervisor._processes["recorder"].pid, folder)
    over, called_ns, start = threading.Event(), time.monotonic_ns(), np.zeros(1, START)

    def inject() -> None:
        while injection and not over.wait(0.05):
            resident.rig.shared.start.read(start)
            if start["start_ns"][0] > called_ns and not over.wait(INJECT_AFTER_S):
                injection.act(made)
                return

    thread = threading.Thread(target=inject)
    thread.start()
    try:
        return resident.run(folder, figure=False).summary
    finally:
        over.set()
        thread.join()
        if injection:
            time.sleep(BACK_AFTER_S)
            injection.mend(made)


def session(
    config: Config, endpoints: Path, folder: Path, minutes: float, found: Found, growth: Growth, chance: random.Random
) -> None:
    """Open the rig and make runs on it until the time is over, or the rig does not go on."""
    injection: Injection | None = None

    def new_folder() -> Path:
        place = folder / f"run_{found.runs:04d}_{found.opened}"
        place.mkdir()
        return place

    def take(summary: dict[str, Any]) -> None:
        known = {int(fault) for fault in injection.expected} if injection else set()
        found.take(place, summary, injection.name if injection else "", known)
        what = injection.name if injection else "no fault"
        print(f"{found.runs}: {what}: {'; '.join(summary['reasons']) or 'done'}"[:160], flush=True)

    place = new_folder()
    found.opened += 1
    try:
        with Signals() as signals, ExitStack() as stack:
            control = stack.enter_context(ControlClient(json.loads(endpoints.read_text())["control"]))
            resident = Resident(config, open_backend(config, place, _silent, stack, endpoints), signals, _silent)
            found.began = found.began or time.monotonic()
            workers = {name: process.pid for name, process in resident.rig._supervisor._processes.items()}
            while True:
                injection = chance.choice(INJECTIONS) if found.runs % 2 else None
                take(made_run(resident, place, control, injection))
                if time.monotonic() - found.began > min(WARM_UP_S, 30.0 * minutes):
                    growth.note({**workers, "loop": os.getpid()})
                if found.over(minutes) or (injection and injection.reopens):
                    return
                signals.loop = None
                resident.latched.clear()  # the operator looks, and clears each fault
                before, injection, place = place, None, new_folder()
                resident.next_run(place)
                shutil.rmtree(before)
    except DeviceError as error:  # after some faults a link is not used again until the rig is opened anew
        if not (place / FILE_NAME).is_file() or not len(read_trial(place).tick):
            raise
        take(summarise_afterwards(place, f"ended early: {error}"))
    finally:
        found.growth += [row for row in growth.rows() if row not in found.growth]


def main(arguments: list[str] | None = None) -> int:
    """Run for so many minutes; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for the figures")
    asked = parser.parse_args(arguments)
    found, growth, chance = Found(), Growth(), random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="hil-endurance-") as name, ExitStack() as stack:
        folder = Path(name)
        telemetry = f"tcp://127.0.0.1:{_free_port()}"
        settings = [*SETTINGS, f"telemetry.endpoint={telemetry}"]
        endpoints = served(settings, folder, stack)
        stack.enter_context(beside(folder, telemetry))
        config = load_config("sim_wire", settings)
        while not found.over(asked.minutes):
            try:
                session(config, endpoints, folder, asked.minutes, found, growth, chance)
            except DeviceError as error:
                found.not_opened.append(str(error))
                print(f"not opened: {error}"[:160], flush=True)
    show(found, asked.minutes)
    if asked.json:
        asked.json.write_text(json.dumps({"minutes": asked.minutes, **asdict(found), "ok": found.ok}, indent=1))
    return 0 if found.ok else 1


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
