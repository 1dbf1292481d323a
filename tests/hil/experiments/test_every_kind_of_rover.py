"""Every experiment that a rover can do, on a rover of every kind: it ends with a summary, a figure and a sound record.

What a record has depends on the rover: without joints there are no joint angles, without servos no angles of servos. So
each reader of a record meets each kind here once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.analysis.film.make import FilmRequest, render
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config
from hil.recording import read_trial
from tests.rover_files import CORPUS, cart

KINDS = {
    "rigid": cart(),
    "rigid with six wheels": cart(3),
    "rigid with eight wheels": cart(4),
    "rockers": cart(sides="revolute"),
    "sliding": cart(sides="prismatic"),
    # the bodies that move are those of the rigid one, so nothing is compiled for them
    "all locked": cart(sides="revolute"),
    "steered": CORPUS["four steered"],
}
LOCKS = {
    "all locked": {"left_beam_joint": 0, "right_beam_joint": 0},
    "steered": {f"steer_{side}_{row}": 0 for side in ("left", "right") for row in (0, 1)},
}
EXPERIMENTS = {
    "impact": {"trial.start_distance_m": 0.03, "trial.settle_s": 2.0},
    "stimulus": {"stimulus.table": "time_s,speed_mps\n0,0\n0.2,0.05\n0.4,0\n"},
    "crossing": {
        "ground.kind": "firm",
        "daq": None,
        "ground.profile": {"shape": "ledge", "height_m": 0.03},
        "crossing.timeout_s": 1.5,
        "crossing.settle_s": 0.1,
    },
    "drawbar": {},
    "slope": {},
}
# Each kind of rover is compiled anew: all experiments meet the rigid one, all rovers meet the wall.
CASES = [("rigid", experiment) for experiment in EXPERIMENTS] + [(kind, "impact") for kind in KINDS if kind != "rigid"]


@pytest.mark.ci_cases("rigid-impact", "rigid-crossing", "rockers-impact", "rigid with eight wheels-impact")
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "experiment"), CASES)
def test_an_experiment_on_a_rover_of_any_kind_ends_with_a_summary(kind: str, experiment: str, tmp_path: Path) -> None:
    settings = {"telemetry.endpoint": "", **EXPERIMENTS[experiment], "experiment": experiment}
    settings |= {"rover.imported.urdf": KINDS[kind], "rover.imported.wheels": None, "rover.locks": LOCKS.get(kind, {})}
    config = load_config("sim_imported", settings)
    summary = run_experiment(config, tmp_path, lambda _: None).summary
    assert "accepted" in summary
    assert len(read_trial(tmp_path, trusted=True).tick) > 100
    assert [check for check in verify(tmp_path) if not check.ok] == []
    if experiment == "drawbar":  # pulled by what nobody measures: its motion is not known, and no film is made
        return
    path, _ = render(tmp_path, FilmRequest("side", "png", at_s=0.2), tmp_path / "still.png")
    assert path.stat().st_size > 5_000
