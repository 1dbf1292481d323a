"""What the plant's process does at an impact has been done once before: a kernel's first call takes some 20 ms."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from hil.config import load_config
from hil.config.rig import Rig
from hil.simulator.simulated_rig import build_simulated_rig, warm_up_simulated_rig

rig = Rig(load_config("sim_wire", ["trial.start_distance_m=0.03", "trial.ramp_s=0.1"]))

def loaded():
    modules = [module for name, module in sys.modules.items() if name.startswith(("models.", "hil."))]
    found = {id(item): item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)}
    return {item.py_func.__qualname__: len(item.overloads) for item in found.values()}

warm_up_simulated_rig(rig, build_simulated_rig(rig))
plant = build_simulated_rig(rig).plant
before = loaded()
plant.set_drives((0.4,) * 6, False)
while plant.hit_ns is None:
    plant.advance(plant.t_ns + 1_000_000)
for _ in range(4):
    plant.advance(plant.t_ns + 100_000_000)
plant.plate, plant.hit_askew, plant.slip
plant.effective_kinetic_energy_when_hit(), plant.effective_kinetic_energy_on_ground_when_hit()
print({name: count for name, count in loaded().items() if count != before.get(name)})
"""


@pytest.mark.slow
def test_no_kernel_is_called_for_the_first_time_at_the_impact():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("{}", 0), done.stderr
