"""Records of ten configs, to be held against those of another version: `python tools/ten_records.py FOLDER [NAME...]`.

For a change that must not change behaviour: run it with the Python of each checkout's environment, into separate
folders, and compare the two with tools/compare_records.py. Five rovers on soil, three other grounds, the bumper, and
a late cut; lockstep, no valve powered.

Exit status: 0 all ran, 1 one of them failed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEN = {
    "rcp": ("sim_impact",),
    "parametric": ("sim_impact", "rover.type=parametric"),
    "exomars_like": ("sim_impact", "rover.type=exomars_like"),
    "exomars": ("sim_impact", "rover.type=exomars"),
    "rocker_bogie": ("sim_impact", "rover.type=rocker_bogie"),
    "firm": ("sim_impact", "ground.kind=firm"),
    "rigid": ("sim_impact", "ground.kind=rigid"),
    "no_ground": ("sim_impact", "ground.kind=none"),
    "bumper": ("bumper", "rig=simulated", "clock=lockstep"),
    "cut_delay": ("sim_impact", "links.drives_delay_ms=5"),
}
DONE_OR_ABORTED = (0, 1)  # the record of a rover that does not hit the obstacle counts too


def main(folder: Path, names: list[str]) -> int:
    """Run those configs, or all of them."""
    worst = 0
    for name in names or TEN:
        config, *settings = TEN[name]
        command = [sys.executable, "-P", "-m", "hil.cli", "trial", config, "--out", str(folder / name), "--json"]
        for setting in ("telemetry.endpoint=''", *settings):
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{name}: exit status {done.returncode}", flush=True)
        if done.returncode not in DONE_OR_ABORTED:
            print(done.stderr)
            worst = 1
    return worst


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
