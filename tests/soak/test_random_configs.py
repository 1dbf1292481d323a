"""A sample of the configs of `make fuzz`: keys at and between their bounds; none ends in an error, none is wrong."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from hil.config import load_config

# The same every time, because each kind of ground, wheel and rover compiles kernels of its own.
SEED, SAMPLE = 1, 16


@pytest.fixture(scope="module")
def scripts():
    """Imports a script of this folder by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        yield importlib.import_module


def test_every_key_is_drawn_and_a_seed_draws_the_same(scripts):
    random_configs = scripts("random_configs")
    known = random_configs.keys()
    drawn = [random_configs.drawn_config(number, SEED) for number in range(len(known))]
    assert drawn == [random_configs.drawn_config(number, SEED) for number in range(len(known))]
    assert {one.partition("=")[0] for _, overrides in drawn for one in overrides} == {key.path for key in known}


def test_the_equilibrium_puts_the_weight_on_the_wheels_of_a_symmetric_rover_evenly_left_and_right(scripts):
    found = scripts("static_equilibrium").at_rest(load_config("sim_juno"))
    assert found is not None
    left, right = found.load_N[::2], found.load_N[1::2]
    assert left == pytest.approx(right, rel=1e-6)
    assert found.load_N.sum() == pytest.approx(317.7 * 9.81, rel=1e-9)


@pytest.mark.slow
def test_no_random_config_ends_in_an_error_or_is_accepted_and_wrong(scripts):
    results = [scripts("random_configs").make(number, SEED) for number in range(SAMPLE)]
    assert [(one.number, one.drawn, one.wrong) for one in results if one.wrong] == []
    assert len({one.outcome for one in results}) >= 3
