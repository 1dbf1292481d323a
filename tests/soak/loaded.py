"""Run a command beside processes that spin at ordinary priority, with every real-time right taken from it.

    python tests/soak/loaded.py -- pytest ...

As root, what lets a process take the rights all the same is dropped with `setpriv` (util-linux).
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys

SPINNING = 2
CAPABILITIES = "-sys_nice,-ipc_lock"


def without_rights() -> None:
    """Of this process and all that it starts: no real-time priority, no locked memory."""
    for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK, resource.RLIMIT_NICE):
        resource.setrlimit(limit, (0, 0))


def main(command: list[str]) -> int:
    """Exit status of the command."""
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            print("root keeps its rights here: setpriv is not installed (part of util-linux)", file=sys.stderr)
            return 2
        command = ["setpriv", f"--inh-caps={CAPABILITIES}", f"--bounding-set={CAPABILITIES}", *command]
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(SPINNING)]
    try:
        return subprocess.run(command, preexec_fn=without_rights, check=False).returncode
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[sys.argv.index("--") + 1 :]))
