"""Every kernel runs once before a run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numba import typeof

from hil.app import warm_up as warm_up_module
from hil.app.warm_up import warm_up
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.twin import RoverTwin
from models.kernels import compiled
from models.plant import Plant, parameters

# One process, so that neither share can overtake the other: number of all, and names of those that neither share has.
COUNT = """
from hil.app import warm_up
from hil.config import load_config
from hil.config.rig import Rig
from models.kernels.compiled import on_compiling

rig, names = Rig(load_config("sim_impact")), []
on_compiling(names.append)
warm_up._compile_step(rig)
warm_up._compile_others(rig)
shared = len(names)
warm_up._run_all(rig, lambda _: None)
print(len(names), *names[shared:])
"""


def test_what_is_compiled_afterwards_is_not_reported_to_whoever_warmed_up(monkeypatch):
    monkeypatch.setattr(warm_up_module, "_WARM", set())
    warm_up(Rig(load_config("sim_impact")), lambda _: None)
    assert compiled._COMPILATIONS.callback is None


def test_the_last_line_of_compiling_says_that_all_is_compiled(monkeypatch):
    said = []

    def compiles_two(*_):
        for name in ("bias", "axes"):
            compiled._COMPILATIONS.callback(name)

    monkeypatch.setattr(warm_up_module, "_WARM", set())
    monkeypatch.setattr(warm_up_module, "_run_all", compiles_two)
    warm_up(Rig(load_config("sim_impact")), said.append)
    assert said[-1].startswith("all kernels are compiled: 2 by this process")


def test_kernels_of_other_source_are_not_taken_for_those_of_this_one(monkeypatch, tmp_path):
    here, other = tmp_path / "rover_here", tmp_path / "rover_other"
    for folder in (here, other):
        folder.mkdir()
    (other / "dynamics.bias.nbi").touch()
    stats = SimpleNamespace(cache_path=str(here))
    monkeypatch.setattr(warm_up_module, "fill_mass_matrix", SimpleNamespace(inlined=SimpleNamespace(stats=stats)))
    assert not warm_up_module._cached()
    (here / "dynamics.bias.nbi").touch()
    assert warm_up_module._cached()


def test_this_process_finds_what_it_has_compiled():
    warm_up(Rig(load_config("sim_impact")))
    assert warm_up_module._cached()


def test_nothing_is_said_of_compiling_where_all_was_in_the_cache(monkeypatch):
    said = []
    monkeypatch.setattr(warm_up_module, "_WARM", set())
    monkeypatch.setattr(warm_up_module, "_run_all", lambda *_: None)
    warm_up(Rig(load_config("sim_impact")), said.append)
    assert not said


def test_kernels_run_once_in_a_process_for_all_configs_that_need_the_same(monkeypatch):
    run = []
    monkeypatch.setattr(warm_up_module, "_WARM", set())
    monkeypatch.setattr(warm_up_module, "_run_all", lambda rig, _: run.append(rig.config.trial.angle_deg))
    for override in ("trial.angle_deg=50", "trial.angle_deg=60", "ground.kind=firm"):
        warm_up(Rig(load_config("sim_impact", [override])))
    assert run == [50, 60]


def test_kernels_are_compiled_without_the_collector_which_is_on_again_also_after_a_failure(monkeypatch):
    on = []

    def fails(*_):
        on.append(gc.isenabled())
        raise RuntimeError("planted")

    monkeypatch.setattr(warm_up_module, "_WARM", set())
    monkeypatch.setattr(warm_up_module, "_run_all", fails)
    with pytest.raises(RuntimeError, match="planted"):
        warm_up(Rig(load_config("sim_impact")))
    assert on == [False]
    assert gc.isenabled()


def test_the_second_process_takes_no_step_before_the_step_is_compiled(monkeypatch):
    def settle(*_, **__):
        raise AssertionError("it steps")

    monkeypatch.setattr(parameters, "settle", settle)
    warm_up_module._compile_others(Rig(load_config("sim_impact")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "configs",
    [
        ("sim_impact", "sim_impact ground.kind=firm", "sim_impact ground.kind=rigid"),
        ("sim_juno", "sim_drop", "sim_step_nonsmooth", "sim_lift", "sim_sinkage"),
    ],
    ids=["with an obstacle", "without"],
)
def test_rovers_on_all_kinds_of_ground_compile_nothing_but_their_step(configs):
    """A kind of step takes seconds to compile; what reads its results is compiled once for all of them."""
    steps, others = set(), set()
    for words in configs:
        name, *overrides = words.split()
        nominal = replace(Rig(load_config(name, overrides)).nominal, settles=False)
        plant, twin = Plant(nominal, np.random.default_rng()), RoverTwin(nominal)
        steps |= {str(typeof(plant.scene.value)), str(typeof(twin._twin.scene.value))}
        others.add((str(typeof(plant._parts)), str(typeof(plant._watch._watched)), str(typeof(twin._bound))))
    assert len(steps) >= len(configs)
    assert len(others) == 1


@pytest.mark.soak
def test_two_processes_share_all_kernels_but_those_that_step_or_check_a_rover_at_rest(tmp_path):
    environment = {**os.environ, "ROVER_HIL_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, *left = done.stdout.split()
    assert set(left) == {"_look", "normal_resultants", "flexible_resultants", "_shares"}
    assert int(count) == pytest.approx(warm_up_module.ABOUT, rel=0.05)
