"""The twin of a space arm runs no kernel for the first time within a tick."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a process of its own: other tests have loaded these kernels.
NEW_KERNELS = """
import gc

from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.observer.observed_twin import make_twin
from models.kernels.compiled import SeparateKernel

twin = make_twin(Rig(load_config("sim_capture")))
before = twin._state.q.copy(), twin._state.v.copy()
twin.warm_up()
unmoved = (twin._state.q == before[0]).all() and (twin._state.v == before[1]).all()
kernels = [one for one in gc.get_objects() if isinstance(one, SeparateKernel)]
loaded = {one: len(one.overloads) for one in kernels}
twin.grapple.energy_of_capture()
twin._state.q[twin.grapple._speeds[0] + 1] = -1e-3  # the payload is in the seat
twin.grapple.update(1, 0.0)
print(unmoved, twin.grapple.contacts, [one.py_func.__name__ for one in kernels if len(one.overloads) > loaded[one]])
"""


@pytest.mark.slow
def test_at_the_contact_a_warm_twin_loads_no_kernel():
    command = [sys.executable, "-c", NEW_KERNELS]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert said.stdout.split("\n")[-2] == "True 1 []"
