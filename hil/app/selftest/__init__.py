"""`hil selftest`: what of this installation works on this computer, to go into a report of a fault."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from hil.app.selftest import computer, program
from hil.app.selftest.finding import Bench, Outcome, Progress
from hil.version import running_version

# Whether every use needs a part; the others are needed by real time, real devices or an extra.
PARTS: tuple[tuple[str, bool, Callable[[Bench], Outcome]], ...] = (
    ("version", True, program.version),
    ("Python", True, program.python),
    ("packages", True, program.packages),
    ("machine", True, computer.machine),
    ("kernels", True, program.kernels),
    ("trial", True, program.trial),
    ("figure", True, program.figure),
    ("exports", False, program.exports),
    ("page", False, program.page),
    ("disk", True, computer.disk),
    ("clock", True, computer.clock),
    ("wake-ups", False, computer.wake_ups),
    ("rights", False, computer.rights_here),
    ("serial lines", False, computer.serial_line),
    ("serial ports", False, computer.ports),
    ("NI devices", False, computer.ni_devices),
)


class Part(msgspec.Struct, frozen=True):
    """One part of the installation.

    Attributes:
        part: its name.
        works: whether it does.
        needed: whether every use needs it, the simulated rig in virtual time too.
        found: what was seen.
        to_do: how it would work; "" where it does.
        took_s: how long the test took [s].
    """

    part: str
    works: bool
    needed: bool
    found: str
    to_do: str
    took_s: float


class SelfTestReport(msgspec.Struct, frozen=True):
    """All parts, as `hil selftest --json` prints them.

    Attributes:
        version: of rover-hil, with its commit.
        works: whether all parts work that every use needs.
        parts: one by one.
    """

    version: str
    works: bool
    parts: tuple[Part, ...]


def selftest(progress: Progress = lambda _: None, parts: Sequence[str] = ()) -> SelfTestReport:
    """Try each part of the installation, in about a minute; nothing raises, for that is a finding too.

    Args:
        progress: receives progress lines.
        parts: names of those to try; empty: all.
    """
    with tempfile.TemporaryDirectory(prefix="hil-selftest-") as folder:
        bench = Bench(Path(folder), Path.cwd(), progress)
        tried = tuple(_tried(*part, bench) for part in PARTS if not parts or part[0] in parts)
    return SelfTestReport(running_version(), all(part.works for part in tried if part.needed), tried)


def _tried(name: str, needed: bool, test: Callable[[Bench], Outcome], bench: Bench) -> Part:
    bench.progress(f"trying: {name}")
    began = time.monotonic()
    try:
        found = test(bench)
    except Exception as error:
        found = Outcome(False, f"{type(error).__name__}: {error}", "put this line into a report of a fault")
    to_do = "" if found.works else found.to_do
    return Part(name, found.works, needed, found.found, to_do, round(time.monotonic() - began, 2))
