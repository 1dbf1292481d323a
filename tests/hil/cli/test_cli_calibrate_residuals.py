"""`hil calibrate residuals`: thresholds from the folders of good runs, and what is refused."""

import json
import shutil

import pytest

from hil.app.run import run_experiment
from hil.cli import run
from hil.config import load_config
from hil.config.text_io import read_yaml

SHORT = (
    "telemetry.endpoint=''", "residuals.calibration=null", "trial.start_distance_m=0.03", "trial.ramp_s=0.1",
    "trial.settle_s=0.5", "record.after_s=0.5",
)  # fmt: skip
pytestmark = pytest.mark.slow  # five trials


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folders = []
    for seed in range(1, 6):
        folders.append(tmp_path_factory.mktemp(f"run{seed}"))
        config = load_config("sim_impact", [*SHORT, f"trial.speed_mps={0.068 + 0.001 * seed}"], seed)
        run_experiment(config, folders[-1], lambda _: None, figure=False, one_of_many=True)
    return [str(folder) for folder in folders]


def test_thresholds_of_good_runs_are_written_and_judge_a_further_run(runs, tmp_path, capsys):
    sheet = tmp_path / "residuals.yaml"
    assert run(["calibrate", "residuals", *runs, "--sheet", str(sheet), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    content, problems = read_yaml(sheet.read_text(encoding="utf-8"), "(file)")
    assert not problems
    assert content == found
    assert found["runs"] == 5
    assert found["between"] == {"trial.speed_mps": pytest.approx([0.069, 0.073])}
    assert {"force_share", "force_impulse", "speed_lag", "age"} <= found["thresholds"].keys()
    config = load_config("sim_impact", [*SHORT, f"residuals.calibration={sheet}"], seed=9)
    outcome = (
        run_experiment(config, tmp_path / "next", lambda _: None, figure=False, one_of_many=True)
        if (tmp_path / "next").mkdir() is None
        else None
    )
    assert outcome.summary["residuals"]["not_judged"] == ""
    assert outcome.summary["accepted"]


def test_the_former_thresholds_are_kept_beside_the_new_ones(runs, tmp_path, capsys):
    sheet = tmp_path / "residuals.yaml"
    for _ in range(2):
        assert run(["calibrate", "residuals", *runs, "--sheet", str(sheet)]) == 0
    assert "the former one is" in capsys.readouterr().out
    assert (tmp_path / "residuals.yaml.former").read_bytes() == sheet.read_bytes()


def test_runs_that_give_no_thresholds_are_refused_and_nothing_is_written(runs, tmp_path, capsys):
    sheet, bad = tmp_path / "residuals.yaml", tmp_path / "bad"
    shutil.copytree(runs[0], bad)
    summary = json.loads((bad / "summary.json").read_text())
    (bad / "summary.json").write_text(json.dumps({**summary, "reasons": ["fault 13: a cable"]}))
    for given, words in (
        (runs[:4], "found 4 runs, allowed: 5 or more"),
        ([*runs, runs[0]], "found a run twice"),
        ([*runs[1:], str(bad)], "fault 13: a cable; allowed: runs that are good"),
        ([*runs[1:], str(tmp_path)], "holds no trial.h5"),
    ):
        assert run(["calibrate", "residuals", *given, "--sheet", str(sheet)]) == 2
        assert words in " ".join(capsys.readouterr().err.split())
    assert not sheet.exists()
