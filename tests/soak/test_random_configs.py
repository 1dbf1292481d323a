"""A sample of the configs of `make fuzz`: keys at and between their bounds; none ends in an error, none is wrong."""

from __future__ import annotations

import importlib
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hil.config import load_config, shipped_configs
from hil.experiments.registry import experiment_names
from hil.simulator.ground_truth import GroundTruth
from models.plant.towing import Traction

# The same every time, because each kind of ground, wheel and rover compiles kernels of its own.
SEED, SAMPLE = 1, 16


@pytest.fixture(scope="module")
def scripts():
    """Imports a script of this folder by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        yield importlib.import_module


@pytest.mark.slow
def test_every_key_is_drawn_and_a_seed_draws_the_same(scripts):
    random_configs = scripts("random_configs")
    known = random_configs.keys()
    drawn = [random_configs.drawn_config(number, SEED) for number in range(len(known))]
    assert drawn == [random_configs.drawn_config(number, SEED) for number in range(len(known))]
    assert {one.partition("=")[0] for _, overrides in drawn for one in overrides} == {key.path for key in known}


@pytest.mark.slow
def test_every_shipped_config_and_every_experiment_is_drawn(scripts):
    random_configs = scripts("random_configs")
    bases = [*random_configs.BASES, *random_configs.OTHERS]
    assert {random_configs.name_of(base) for base in bases} == set(shipped_configs())
    configs = [load_config(random_configs.name_of(base), random_configs.given_of(base)) for base in bases]
    assert {config.experiment for config in configs} >= set(experiment_names())
    assert {config.clock for config in configs} == {"lockstep"}


@pytest.mark.slow
def test_no_key_is_drawn_with_a_base_that_does_not_read_it_where_one_does(scripts):
    random_configs = scripts("random_configs")
    every = random_configs.keys()
    known = {key.path: key for key in every}
    bases = [*random_configs.BASES, *random_configs.OTHERS]
    for number in range(len(known)):
        base, drawn = random_configs.drawn_config(number, SEED, everything=True)
        paths = [one.partition("=")[0] for one in drawn]
        if paths[0] != "rover.type" or len(paths) != 2:
            assert all(random_configs.suits(known[path], base) for path in paths), (base, paths)
        else:  # of a rover that no shipped config has
            assert not any(random_configs.suits(known[paths[1]], one) for one in bases)


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


@pytest.fixture(scope="module")
def driven(scripts):
    """Config, and an accepted run of it."""
    random_configs = scripts("random_configs")
    config = load_config("sim_juno", random_configs.given_of("sim_juno"))
    done = random_configs._made(config)
    assert done.summary["accepted"]
    return config, done


def test_an_accepted_run_is_right(scripts, driven):
    assert list(scripts("random_configs")._wrong_of(*driven)) == []


@pytest.mark.parametrize(
    ("field", "by", "words"), [("speed_mps", 1.6, "by its speed"), ("normal_force_N", 1.1, "loads")]
)
def test_an_accepted_run_that_says_something_else_than_its_truth_is_found(scripts, driven, field, by, words):
    config, done = driven
    ticks = done.ticks.copy()
    ticks[field] *= by
    assert words in " ".join(scripts("random_configs")._wrong_of(config, done._replace(ticks=ticks)))


@pytest.mark.parametrize(("said", "known"), [(True, False), ("step", "ledge"), (1.0, 0.9)])
def test_a_value_of_the_summary_that_the_simulated_rig_contradicts_is_found(scripts, driven, said, known):
    config, done = driven
    summary = {**done.summary, "came_m": said, "came_true_m": known}
    assert any(
        "came_true_m" in one for one in scripts("random_configs")._wrong_of(config, done._replace(summary=summary))
    )


@pytest.mark.parametrize(("pull_N", "right"), [(354.0, True), (321.8, False)])
def test_a_pull_that_the_simulated_rig_contradicts_is_found(scripts, pull_N, right):
    random_configs = scripts("random_configs")
    ground_truth = GroundTruth(traction=Traction(356.7, 0.2, 0.05))
    said = {"pull_N": pull_N, "truth_check": {"values": [{"name": "drawbar pull", "allowed": 16.0}]}}
    config = load_config("sim_drawbar")
    done = random_configs.Made(0, said, np.zeros(0), np.concatenate(list(ground_truth.events(1000))))
    assert (list(random_configs._off_the_pull(config, done)) == []) is right
    uncompared = done._replace(summary={"pull_N": pull_N})
    assert "by the truth" in " ".join(random_configs._off_the_pull(config, uncompared))


def test_a_run_that_takes_too_long_is_found_whoever_catches_the_error(scripts, monkeypatch):
    random_configs = scripts("random_configs")
    monkeypatch.setattr(random_configs, "SECONDS", 0.02)

    def caught(config):
        try:
            while True:
                pass
        except BaseException:
            return random_configs.Made(1, {"accepted": False, "reasons": ["caught"]}, np.zeros(0), np.zeros(0))

    monkeypatch.setattr(random_configs, "_made", caught)
    monkeypatch.setattr(random_configs, "drawn_config", lambda *_, **__: ("sim_juno", ()))
    found = random_configs.make(0, SEED)
    assert found.outcome == "error"
    assert "not ended" in found.wrong


@pytest.mark.slow
def test_a_process_that_a_config_ends_is_found_and_the_next_one_is_made(scripts, monkeypatch):
    random_configs = scripts("random_configs")
    monkeypatch.setattr(random_configs, "make", partial(_ending, ended=1))
    found = list(random_configs._made_by(1, range(3), SEED, everything=False))
    assert [one.number for one in found] == [0, 1, 2]
    assert [bool(one.wrong) for one in found] == [False, True, False]


def _ending(number, seed, everything, *, ended):
    random_configs = importlib.import_module("random_configs")
    if number == ended:
        os._exit(1)
    return random_configs.Result(number, "sim_juno", "drive", (), "refused")


@pytest.mark.slow
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["of each experiment", "every"]
)
def test_a_base_goes_through_and_is_right(scripts, every):
    random_configs = scripts("random_configs")
    seen = set()
    for base in (*random_configs.BASES, *random_configs.OTHERS):
        config = load_config(random_configs.name_of(base), random_configs.given_of(base))
        if config.experiment in seen and not every:
            continue
        seen.add(config.experiment)
        done = random_configs._made(config)
        assert (base, done.summary["reasons"], list(random_configs._wrong_of(config, done))) == (base, [], [])
