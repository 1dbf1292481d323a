"""Every process that hil starts is in one table, by the name that `ps` shows."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from hil.processes.__main__ import PROGRAMS, WORKERS


@pytest.mark.parametrize("place", [*WORKERS.values(), *PROGRAMS.values()])
def test_each_name_of_the_table_leads_to_a_function(place):
    module, _, function = place.partition(":")
    assert callable(getattr(import_module(module), function))


def test_the_entry_point_imports_no_process():
    code = "import sys, hil.processes.__main__; print(*(m for m in sys.modules if m.startswith(('hil.app', 'numba'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
