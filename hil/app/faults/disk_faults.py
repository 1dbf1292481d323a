"""A disk that is full before a run and during one (row 22), on a small file system in a namespace of its own.

`python -m hil.app.faults.disk_faults MOMENT FOLDER` is the process in that namespace: it reads the config from its
standard input and prints what came of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

from hil.app.faults.device_faults import judge
from hil.app.faults.injection import PROCESSES, Case, Expected, Injection, Outcome
from hil.app.faults.lockstep import LockstepRun
from hil.app.run import run_in_virtual_time
from hil.config import Config
from hil.messages.fault import Fault
from hil.safety.fault_table import FAULT_TABLE

# Sizes of the file system [MB]: too small to be armed; enough until it is filled up.
SMALL_MB, ENOUGH_MB = 50, 40
FULL_TICK = 300
# A process in a mount namespace of its own, which may mount without being root.
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
    """A full disk before arming and in the run-up.

    Args:
        config: of the rig, in lockstep.
    """
    bound_ms = FAULT_TABLE[Fault.DISK_FULL].bound_for(config)
    during = Expected(frozenset({Fault.DISK_FULL}), bound_ms, bound_ms)
    for moment, state, expected in (("before", "idle", Expected()), ("during", "run_up", during)):
        injection = Injection(Fault.DISK_FULL, f"full {moment} the run", "disk", state, PROCESSES, config.name)
        yield Case(injection, expected, partial(_in_a_namespace, config, moment))


def _in_a_namespace(config: Config, moment: str, expected: Expected) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="hil-faults-") as place:
        command = [*_ALONE, sys.executable, "-P", "-m", "hil.app.faults.disk_faults", moment, place]
        given = json.dumps([config.model_dump(mode="json"), expected.detect_ms, expected.react_ms])
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        return Outcome(wrong=((done.stderr.strip().splitlines() or ["it ended without a word"])[-1],))
    found = json.loads(done.stdout)
    return Outcome(**{**found, "wrong": tuple(found["wrong"])})


def _before(config: Config, place: Path, expected: Expected) -> Outcome:  # noqa: ARG001
    folder = place / "run"
    folder.mkdir()
    done = run_in_virtual_time(config, folder, figure=False)
    reasons = "; ".join(done.summary["reasons"])
    wrong = () if done.exit_code == _REFUSED and "disk space" in reasons else (f"it was armed: {reasons}",)
    return Outcome(wrong=wrong, remark="arming refused")


def _during(config: Config, place: Path, expected: Expected) -> Outcome:
    folder = place / "run"
    folder.mkdir()
    run = LockstepRun(config, folder)
    run.at(FULL_TICK, lambda _: _fill_up(place / "ballast"))
    outcome = judge(run.run(), expected)
    return Outcome(outcome.detected_ms, outcome.reacted_ms, outcome.wrong, "the reserve holds what followed")


def _fill_up(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


_MOMENTS: dict[str, tuple[int, Callable[[Config, Path, Expected], Outcome]]] = {
    "before": (SMALL_MB, _before),
    "during": (ENOUGH_MB, _during),
}


def main(moment: str, place: str) -> None:
    """Mount a small file system, make the run on it, and print what came of it."""
    raw, detect_ms, react_ms = json.loads(sys.stdin.read())
    size_mb, make = _MOMENTS[moment]
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "none", place], check=True)
    rows = frozenset({int(Fault.DISK_FULL)}) if moment == "during" else frozenset()
    outcome = make(Config.model_validate(raw), Path(place), Expected(rows, detect_ms, react_ms))
    sys.stdout.write(json.dumps(asdict(outcome)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
