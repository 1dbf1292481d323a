"""Cases of a full disk before a run and during one (row 22), on a small file system in a namespace."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from hil.app.faults import lockstep_cases
from hil.app.faults.case import PROCESSES, Case, ExpectedOutcome, InjectionOutcome, within
from hil.app.faults.lockstep import LockstepRun
from hil.app.run import run_experiment
from hil.config import Config
from hil.messages.fault import Fault
from hil.safety.fault_table import ReactionTimes

# Sizes of the file system [MB]: too small to be armed; enough until it is filled up.
SMALL_MB, ENOUGH_MB = 50, 40
FULL_TICK = 300
# A process in a separate mount namespace, which may mount without being root.
_ALONE = ("unshare", "--mount", "--map-root-user")
_REFUSED = 3


def cannot_mount() -> str:
    """Why no small file system can be mounted here; empty: it can."""
    try:
        command = [*_ALONE, "mount", "-t", "tmpfs", "-o", "size=1m", "none", tempfile.gettempdir()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"no small file system can be mounted: {error.strerror} ({_ALONE[0]})"
    return f"no small file system can be mounted: {done.stderr.strip()}" if done.returncode else ""


def disk_cases(config: Config) -> Iterator[Case]:
    """A full disk before arming and in the run-up."""
    row, at_s = Fault.DISK_FULL, FULL_TICK / config.loop.rate_hz
    during, before = within(ReactionTimes(config), row, stop_ms=0.0), ExpectedOutcome(refused=True)
    yield Case(row, "full before the run", "disk", "idle", PROCESSES, config, run_case, SMALL_MB, expected=before)
    yield Case(row, "full during the run", "disk", "run_up", PROCESSES, config, run_case, ENOUGH_MB, at_s, during)


def run_case(case: Case) -> InjectionOutcome:
    """Make a case, whose `act` is the size of its file system [MB], in a namespace."""
    with tempfile.TemporaryDirectory(prefix="hil-faults-") as place:
        command = [*_ALONE, sys.executable, "-P", "-m", "hil.processes", "full_disk", place, case.kind]
        given = case.config.model_dump_json().encode()
        done = subprocess.run(command, input=given, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return InjectionOutcome(wrong=((said or ["it ended without a word"])[-1],))
    found = json.loads(done.stdout)
    return InjectionOutcome(**{**found, "wrong": tuple(found["wrong"])})


def fill_up(ballast: Path, run: LockstepRun | None = None) -> None:  # noqa: ARG001
    """Write to a file until its disk is full."""
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def run_on_small_disk(folder: str, kind: str) -> None:
    """Mount a small file system on a folder, make the run of that kind on it, and print its outcome.

    The config comes on the standard input.
    """
    place = Path(folder)
    config = Config.model_validate_json(sys.stdin.buffer.read())
    case = next(case for case in disk_cases(config) if case.kind == kind)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={case.act}m", "none", place], check=True)
    run = place / "run"
    run.mkdir()
    if case.expected.refused:
        done = run_experiment(case.config, run, lambda _: None, figure=False, one_of_many=True)
        reasons = "; ".join(done.summary["reasons"])
        wrong = () if done.exit_code == _REFUSED and "disk space" in reasons else (f"it was armed: {reasons}",)
        outcome = InjectionOutcome(wrong=wrong, remark="arming refused")
    else:
        disturbed = replace(case, act=partial(fill_up, place / "ballast"))
        outcome = replace(lockstep_cases.run_case(disturbed, run), remark="the reserve holds what followed")
    sys.stdout.write(json.dumps(asdict(outcome)))
