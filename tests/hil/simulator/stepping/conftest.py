"""A step service on soil, once for a module."""

import pytest

from tests.hil.simulator.stepping.served import Served


@pytest.fixture(scope="module")
def on_soil():
    served = Served()
    yield served
    served.close()
