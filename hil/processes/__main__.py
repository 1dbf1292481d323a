"""The entry point of every process that hil starts: `python -m hil.processes NAME ARGUMENT...`; `ps` shows the name.

Only what the named process needs is imported.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from hil.processes.lifecycle import WorkerLifecycle

# Processes that `hil.processes.lifecycle.Process` starts, and that end with the one that started them. The arguments
# are a folder or file, the process id of the parent, and others; the function gets lifecycle, path, and the others.
WORKERS = {
    "link": "hil.app.driver_factory:run_link",
    "recorder": "hil.recording.recorder:run_recorder",
    "watchdog": "hil.processes.watchdog:run_watchdog",
    "simulated_rig": "hil.simulator.simulated_rig:run_simulated_rig",
    "rig_server": "hil.simulator.rig_server:run_rig_server",
    "plant_process": "hil.simulator.plant_process:run_plant",
    "serial_process": "hil.simulator.serial_process:run_serial_lines",
    "daq_process": "hil.simulator.daq_process:run_daq_server",
    "server_supervisor": "hil.app.server_process:run_server_supervisor",
    "command_server": "hil.app.server_process:run_command_server",
    "page_server": "hil.app.page.server:run_page_server",
    "camera": "hil.app.camera.capture:run_camera",
}
# Processes without such a life; the function gets the arguments as they are, and may return an exit status.
PROGRAMS = {
    "page_record": "hil.app.page.record:print_record",
    "full_disk": "hil.app.faults.disk_cases:run_on_small_disk",
    "warm_up": "hil.app.warm_up:compile_kernels",
    "impact_injector": "hil.bench.virtual_cuts:inject_impacts",
}


def _run(name: str, *arguments: str) -> int | None:
    place, _, function = {**WORKERS, **PROGRAMS}[name].partition(":")
    if name in PROGRAMS:
        status: int | None = getattr(import_module(place), function)(*arguments)
        return status
    path, parent, *others = arguments
    lifecycle = WorkerLifecycle(int(parent))  # before imports, which take time
    getattr(import_module(place), function)(lifecycle, Path(path), *others)
    return None


if __name__ == "__main__":
    sys.exit(_run(*sys.argv[1:]))
