"""A step service on soil, once for a module."""

import pytest

from tests.hil.simulator.stepping.served import ServedProcess


@pytest.fixture(scope="module")
def on_soil():
    served = ServedProcess()
    yield served
    served.close()
