"""How far the whole config goes in a run: what takes it whole depends on every key."""

from __future__ import annotations

import sys

import pytest

from hil.app.run import run_experiment
from hil.config import Config, load_config

MOST_MODULES, MOST_FUNCTIONS = 30, 25
SHORT = ("telemetry.endpoint=''", "trial.start_distance_m=0.03")
OURS = ("hil.", "drivers.", "models.")


@pytest.mark.slow
def test_a_trial_hands_the_whole_config_to_few_functions(tmp_path):
    config, taken = load_config("sim_impact", SHORT), set()

    def note(frame, event, _):
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(OURS):
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if any(name != "self" and isinstance(frame.f_locals.get(name), Config) for name in given):
                taken.add((module, code.co_name, code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run_experiment(config, tmp_path, lambda _: None, figure=False)
    finally:
        sys.setprofile(before)
    assert 5 < len(taken) <= MOST_FUNCTIONS, sorted(taken)
    assert len({module for module, *_ in taken}) <= MOST_MODULES
