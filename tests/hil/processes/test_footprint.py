"""Imports of the processes of a run: each module that a process does not need costs memory and start-up time."""

import subprocess
import sys

import pytest

from hil.processes import lifecycle

pytestmark = pytest.mark.slow

HEAVY = {"numba", "llvmlite", "scipy", "matplotlib"}
# A config has the rovers' sizes, which need no kernel.
MODELS = {"models.kernels", "models.rover.rover", "models.vehicle", "models.wheel", "models.statics"}
NO_KERNELS = HEAVY | MODELS | {"h5py", "zmq", "grpc", "nidaqmx", "numpy.random"}
NO_LOOP = {"matplotlib", "h5py", "zmq", "grpc", "nidaqmx", "serial", "hil.runtime.loop", "hil.estimation"}
# A link's worker imports the drivers, but NI's library only where an NI device is.
CASES = {
    "hil.processes.link": NO_KERNELS,
    "hil.app.driver_factory": NO_KERNELS,
    "hil.processes.watchdog": NO_KERNELS,
    "hil.recording.recorder": HEAVY | MODELS | {"grpc", "nidaqmx", "serial"},
    "hil.simulator.serial_process": NO_KERNELS,
    "hil.simulator.rig_server": NO_KERNELS | {"serial"},
    "hil.simulator.daq_process": HEAVY | MODELS | {"h5py", "zmq"},
    "hil.simulator.plant_process": NO_LOOP,
    "hil.simulator.simulated_rig": NO_LOOP,
    "hil.app.backends": {"matplotlib", "grpc", "nidaqmx"},
}


@pytest.mark.parametrize(("module", "without"), CASES.items(), ids=CASES)
def test_a_process_imports_no_more_than_it_needs(module, without):
    code = f"import sys, {module}; print(*sorted({without!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_no_process_that_we_start_has_threads_of_a_linear_algebra_library(monkeypatch):
    given = {}
    monkeypatch.setattr(lifecycle.subprocess, "Popen", lambda command, **options: given.update(options))
    lifecycle.Process("watchdog", "run")
    assert given["env"]["OPENBLAS_NUM_THREADS"] == "1"
