"""What the registry hands over: one class for each experiment, whole with no more than a name and `decide`."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import BaseModel
from rich.console import Console

from hil.app.run import run
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.base import Experiment
from hil.experiments.jog import JogExperiment
from hil.experiments.registry import BUILT_IN
from hil.messages.stages import Goal
from hil.safety.monitor import SafetyMonitor

CONFIG = load_config("sim_impact")


class HoldStill(Experiment):
    name = "hold_still"

    def decide(self, samples, estimate, prediction, safe):
        return Goal(self.state, True)


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_each_experiment_names_the_class_of_its_section_of_the_config(kind):
    unchecked = BaseModel.model_copy(CONFIG, update={"experiment": kind.name})  # some need instruments
    assert type(unchecked.section) is kind.section


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_each_experiment_draws_the_figure_that_is_nearest_to_it(kind):
    """One that names its plotter is not drawn by the `plot` of what it extends."""
    nearest = next(one for one in kind.__mro__ if "plot" in vars(one) or vars(one).get("plotter"))
    assert "plot" in vars(nearest) or kind.plot.__func__ is Experiment.plot.__func__


def test_a_number_of_an_experiment_that_is_not_finite_is_none_and_its_summary_is_made(monkeypatch):
    own = {"mean_slip": np.float64("nan"), "peaks": (np.float32(1.5), np.inf), "by_wheel": {"loads": np.array([1, 2])}}
    monkeypatch.setattr(JogExperiment, "summarise", lambda one, run: {**own, **one.verdict(run)})
    summary = run(load_config("sim_impact", ["experiment=jog", "jog.seconds=0.3"]), timed=False).summary
    assert [summary[key] for key in own] == [None, [1.5, None], {"loads": [1, 2]}]
    json.dumps(summary, allow_nan=False)


def test_an_experiment_of_a_name_and_decide_has_a_headline_a_label_a_summary_and_a_table():
    experiment = HoldStill(Rig(CONFIG), lambda *_: ())
    finished = SimpleNamespace(cycle=SimpleNamespace(safety=SafetyMonitor(Rig(CONFIG))), disturbance=lambda _: "")
    assert (experiment.headline(), HoldStill.label(CONFIG)) == ("hold still", "hold_still")
    assert experiment.summarise(finished) == {"accepted": False, "reasons": []}
    experiment.state = HoldStill.states.DONE
    assert experiment.summarise(finished) == {"accepted": True, "reasons": []}
    experiment.stopped = True
    summary = experiment.summarise(finished)
    assert summary == {"accepted": False, "reasons": ["ended by the operator"]}
    console = Console(width=100)
    with console.capture() as printed:
        console.print(HoldStill.table(summary))
    assert printed.get().startswith("Hold still")
    assert "ended by the operator" in printed.get()
