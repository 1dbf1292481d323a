"""Run a command without any real-time rights, on a machine that is busy, or that stands still now and then.

    python tests/soak/loaded.py -- pytest ...
    python tests/soak/loaded.py --spinning 0 --stalls --seed 2 -- pytest ...

Load is processes that spin at ordinary priority. A stall freezes the command and all its descendants at once, as a
host does that takes the processor from a virtual machine; it needs the right to make a control group (cgroup v2).
As root, the capabilities that would still grant real-time rights are dropped with `setpriv` (util-linux).
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CAPABILITIES = "-sys_nice,-ipc_lock"
# Mean time between two stalls, and the shortest and the longest stall [s].
BETWEEN_S = 1.0
STALL_S = (0.03, 0.15)


def without_rights() -> None:
    """Remove real-time priority and locked memory from this process and its children."""
    for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK, resource.RLIMIT_NICE):
        resource.setrlimit(limit, (0, 0))


@contextmanager
def control_group() -> Iterator[Path]:
    """A new control group inside that of this process; the program ends with advice where it may make none.

    Signals would not do: tests stop and continue processes by signals, too.
    """
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    groups = Path("/proc/self/cgroup").read_text().splitlines()
    top = next((mount[1] for mount in mounts if mount[2] == "cgroup2"), "/sys/fs/cgroup")
    own = next((group.removeprefix("0::/") for group in groups if group.startswith("0::")), "")
    group = Path(top, own, f"stalls-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as error:
        sys.exit(
            f"stalls need the right to make a control group ({error}): be root on Linux with cgroup v2, "
            "or run it by: systemd-run --user --scope --property Delegate=yes"
        )
    try:
        yield group
    finally:
        (group / "cgroup.kill").write_text("1")  # what the command has left behind
        while (group / "cgroup.procs").read_text():
            time.sleep(0.01)
        group.rmdir()


def run_with_stalls(command: list[str], chance: random.Random) -> int:
    """Run the command in a group that is frozen at random moments; returns its exit status."""
    lengths_s: list[float] = []
    with control_group() as group:
        process = subprocess.Popen(["sh", "-c", 'echo $$ >"$0" && exec "$@"', group / "cgroup.procs", *command])
        while True:
            try:
                status = process.wait(chance.expovariate(1.0 / BETWEEN_S))
                break
            except subprocess.TimeoutExpired:
                lengths_s.append(chance.uniform(*STALL_S))
            (group / "cgroup.freeze").write_text("1")
            time.sleep(lengths_s[-1])
            (group / "cgroup.freeze").write_text("0")
    print(f"the command stood still {len(lengths_s)} times, for {sum(lengths_s):.1f} s in all", file=sys.stderr)
    return status


def main(words: list[str]) -> int:
    """Run the command under load; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spinning", type=int, default=2, help="number of processes that spin (%(default)s)")
    parser.add_argument("--stalls", action="store_true", help="freeze the command for 30 to 150 ms, once a second")
    parser.add_argument("--seed", type=int, default=1, help="of the moments and lengths of stalls (%(default)s)")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args(words)
    command = arguments.command
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            print("root keeps its rights here: setpriv is not installed (part of util-linux)", file=sys.stderr)
            return 2
        command = ["setpriv", f"--inh-caps={CAPABILITIES}", f"--bounding-set={CAPABILITIES}", *command]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was begun here ends, too
    without_rights()
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.spinning)]
    try:
        if arguments.stalls:
            return run_with_stalls(command, random.Random(arguments.seed))
        return subprocess.run(command, check=False).returncode
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
