"""What the registry hands over: one class for each experiment, whole with no more than a name and `decide`."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pydantic import BaseModel
from rich.console import Console

from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.base import Experiment
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


def test_an_experiment_of_a_name_and_decide_has_a_headline_a_label_a_summary_and_a_table():
    experiment = HoldStill(Rig(CONFIG), lambda *_: ())
    run = SimpleNamespace(cycle=SimpleNamespace(safety=SafetyMonitor(Rig(CONFIG))), disturbance=lambda _: "")
    assert (experiment.headline(), HoldStill.label(CONFIG)) == ("hold still", "hold_still")
    assert experiment.summarise(run) == {"accepted": False, "reasons": []}
    experiment.state = HoldStill.states.DONE
    assert experiment.summarise(run) == {"accepted": True, "reasons": []}
    experiment.stopped = True
    summary = experiment.summarise(run)
    assert summary == {"accepted": False, "reasons": ["ended by the operator"]}
    console = Console(width=100)
    with console.capture() as printed:
        console.print(HoldStill.table(summary))
    assert printed.get().startswith("Hold still")
    assert "ended by the operator" in printed.get()
