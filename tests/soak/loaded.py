"""Run a command without any real-time rights, together with processes that spin at ordinary priority.

    python tests/soak/loaded.py -- pytest ...

As root, the capabilities that would still grant these rights are dropped with `setpriv` (util-linux).
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
    """Remove real-time priority and locked memory from this process and its children."""
    for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK, resource.RLIMIT_NICE):
        resource.setrlimit(limit, (0, 0))


def main(command: list[str]) -> int:
    """Run the command under load; returns its exit status."""
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
