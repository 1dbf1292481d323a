"""Commands of the README and the docs are run to their end in a reader's folder; what is not run here is named."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from zlib import crc32

import pytest

from hil.cli import run
from hil.config import load_config

from .page_commands import ROOT, commands, complete, copy_configs, done, pages_of_users

pytestmark = pytest.mark.slow
# What a reader has in the place of these words.
FILLED = {
    "RUN": "made/run", "runs/YOUR_RUN": "made/run", "RUN|CAMPAIGN": "made/run", "CAMPAIGN": "made/campaign",
    "A": "made/campaign", "B": "made/campaign", "N": "3", "CONFIG": "short.yaml",
    "PLAN": "plan.yaml", "NAME": "sim_juno", "FOLDER": "made",
}  # fmt: skip
PLAN = (
    "name: two\nangles_deg: [60, 70]\nrepeats: 2\n"
    "set: {trial.start_distance_m: 0.03, trial.ramp_s: 0.1, trial.settle_s: 0.5, record.after_s: 0.5}\n"
)
# Trials as those of the plan, for the commands whose config is the reader's.
SHORT = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5")
# Every command of the pages that is not run here, by all of its words, and what runs it or why nothing does. They come
# to their work in test_commands.py all the same.
NOT_RUN = {
    r"hil bench .*": "measures a machine that does nothing else: tests/hil/cli/test_cli_bench.py, _models.py",
    r"hil campaign .*": "51 trials each: tests/hil/campaign, tests/hil/cli/test_cli_campaign.py",
    r"hil calibrate .*": "needs weights, pressures or drives of the reader: tests/hil/cli/test_cli_calibrate*.py",
    r"hil command .*": "needs a running hil operate: tests/hil/cli/test_cli_command.py, tests/hil/operator",
    r"hil devices .*": "shows what this computer has: tests/hil/cli/test_cli_devices.py",
    r"hil (drawbar|slope) .*": "a hundred runs each: tests/hil/campaign/test_traction_*.py",
    r"hil faults .*": "a hundred runs each: tests/hil/app/faults, tests/hil/cli/test_cli_faults.py",
    r"hil identify( .*)?": "five drives: tests/hil/cli/test_cli_identify.py has three",
    r"hil (jog|valve) .*": "asks who sits at the terminal: tests/hil/cli/test_cli_jog.py",
    r"hil render .* --camera": "needs a run that was filmed: tests/hil/analysis/test_film_camera.py",
    r"hil recover .*": "needs a run that was killed: tests/hil/analysis/test_recovery.py",
    r"hil run .* --repeat .*": "ten runs: tests/hil/cli/test_cli_trial.py has two",
    r"hil trial sim_impact --set ground\.pitch.*": "compiles a rig: tests/models/contact/test_obstacle_on_slopes.py",
    r"hil path .* X,Y.*": "the form of a command: tests/hil/analysis/test_path_energy.py",
    r"hil run sim_scan_torque.*": "drives of 20 s: tests/hil/experiments/test_follow_torque.py has a shorter one",
    r"hil run sim_scan": "a drive of 26 s: tests/hil/analysis/test_scan_run.py has a shorter one",
    r"hil run sim_juno_exact( .*)?": "seconds of its own kernels: tests/hil/experiments/test_juno_exact.py, _tilt.py",
    r"hil run sim_xu( .*)?": "kernels of its own: tests/hil/experiments/test_xu.py has a shorter one",
    r"hil run sim_mixed_wheels": "kernels of its own: tests/hil/experiments/test_mixed_wheels.py has a shorter one",
    r"hil run sim_(step|drop)( .*)?": "drives of 15 s: tests/hil/experiments/test_crossing.py has a shorter one",
    r"hil run sim_step_plate .*": "a climb of 30 s: tests/hil/experiments/test_plate_force.py has a shorter one",
    r"hil run sim_capture( .*)?": "kernels of its own: tests/hil/experiments/test_capture_run.py has a shorter one",
    r"hil run sim_walk( .*)?": "a walk of half a minute: tests/hil/experiments/test_walk.py has a cycle",
    r"hil trial sim_impact .*posture=.*": "legs move first: tests/hil/experiments/test_posture.py",
    r"hil sim .*": "serves until it is ended: tests/hil/cli/test_cli_sim.py",
    r"hil serve .*": "serves until it is ended: tests/hil/simulator/stepping/test_step_service.py",
    r"hil activity .*": "drives of 15 s: tests/hil/campaign/activity has shorter ones",
    r"hil validate soil": "a fit of every measured wheel: tests/hil/analysis/test_soil_tests.py has one of them",
    r"hil view .*--foxglove.*": "serves until it is ended: tests/hil/app/view/test_view.py",
    r"hil --install-completion": "writes into the shell's files of this user: tests/hil/cli/test_cli_exits.py",
    r"python -m pytest textline": "of a package that is written first: tests/test_example_package.py",
    r"hil (sensitivity|optimise) .*": "hundreds of runs: tests/hil/campaign/test_sensitivity.py, test_optimisation.py",
    r"hil ruts .*": "needs a scan after the run: tests/hil/analysis/test_ruts.py",
    r"hil sweep .*": "a hundred runs each: tests/hil/campaign/test_sweep.py",
    r"hil check sim_impact --set clock=realtime": "measures the machine: tests/hil/cli/test_cli_bring_up.py",
    r"hil (check|operate|trial) mars_dome.*": "needs that rig: its devices at the protocol level in tests/protocol",
    r"hil (check|trial) sim_wire.*": "in real time: tests/protocol_realtime",
    r"hil run sim_juno_wire": "in real time: tests/protocol/test_protocol_drive.py",
    r"hil run sim_walk_wire.*": "kernels of its own, some 60 s: tests/protocol/test_protocol_servos.py",
    r"hil trial sim_impact --clock realtime": "in real time: tests/hil/realtime/test_realtime_trial.py",
    r"make (trial|install(-dev)?|test(-all|-landing)?|lint|docs|site)( ARGS=.*)?": "what installs and tests: .ci/run",
    r"make (lock|format|figures|figures-check|mutants|limits)( ARGS=.*)?": "changes this tree: tests/tools",
    r"make wheel-check( .*)?": "an environment for each Python: tests/tools/test_wheel.py has one",
    r"python tools/(site_versions|cut_release)\.py .*": "tests/tools/test_site_versions.py, test_cut_release.py",
    r"make (bench|fuzz|soak|test-loaded)( .*)?": "takes minutes to hours: tests/soak has small parts of them",
    r"python docs/(figures|reproduce)/.*": "small parts of them: tests/docs/test_scripts.py, test_reproduction.py",
    r"python (benchmarks|tests/soak)/.*": "takes minutes: its options in test_commands.py, parts in tests/soak",
    r"python look\.py": "the Python of its page: test_python_of_the_pages.py",
    r"python -m pip (install|freeze).*": "of this environment: tests/test_example_package.py",
    r"(bash|dask|export|kill|pre-commit) .*": "other programs: tests/hil/campaign/test_cluster.py starts dask",
}

# Commands that differ from another of the pages, run here, in settings of which the experiment's own tests have whole
# runs, or in the form of what they write: `make soak PART=faults` runs them. That they begin shows test_commands.py.
VARIANTS = tuple(map(re.compile, (
    r"hil trial .* --repeat \d+",
    r"hil trial sim_impact( --json| --seed 3 --json| --set .*|\.yaml)?",
    r"hil energy sim_impact .*",
    r"hil trial sim_motion --set .*",
    r"hil run sim_impact --set .*",
    r"hil run sim_(motion|drawbar|slope) --set .*",
    r"hil run sim_(follow|juno|normal_force|step_plate|stimulus|step_nonsmooth|flexible_wheel|wheel_bed)( .*)?",
    r"hil render made/run --.*",
    r"hil export made/run --to (?!mat$).*",
    r"hil operate (sim_impact|short\.yaml)( --page( --plan thesis)?)?",
)))  # fmt: skip


def given(found):
    """Parameters of a test for each of these commands."""
    return [
        pytest.param(one, marks=pytest.mark.soak if any(row.fullmatch(one) for row in VARIANTS) else ())
        for one in sorted(found)
    ]


def excused(text):
    """The row of NOT_RUN that a command falls under, if any."""
    return next((row for row in NOT_RUN if re.fullmatch(row, text)), None)


def whole(text):
    """Commands of a text that a reader can give, each as it is given; others are names of commands, or their form."""
    given = [words for words in commands(text) if words[0] == "hil"]
    # a run that is made goes into a new folder, one that is read is there; each command has its own DIR
    filled = [
        [f"made/new_{crc32(' '.join(words).encode())}" if before == "--out" and word == "RUN"
         else f"made/of_{words[1]}" if word == "DIR"
         else FILLED.get(word, word) for before, word in zip(["", *words], words, strict=False)]
        for words in given
    ]  # fmt: skip
    return [words for words in filled if len(words) > 1 and complete(words)]


FOUND = {" ".join(words): words for text in pages_of_users().values() for words in commands(text)}
WHOLE = {" ".join(words): words for text in pages_of_users().values() for words in whole(text)}
RUN_HERE = {text: words for text, words in WHOLE.items() if excused(text) is None}
OPERATED = [text for text, words in RUN_HERE.items() if words[1] == "operate"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with copies of the configs, a run and a campaign."""
    place = tmp_path_factory.mktemp("reader")
    copy_configs(place)
    (place / "plan.yaml").write_text(PLAN)
    (place / "short.yaml").write_text(load_config("sim_impact", SHORT).to_yaml())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["trial", "sim_impact", "--out", "made/run"]) == 0
        assert run(["campaign", "sim_impact", "--plan", "plan.yaml", "--out", "made/campaign"]) == 0
    return place


@pytest.mark.parametrize("command", given(RUN_HERE.keys() - set(OPERATED)))
def test_a_command_of_the_pages_is_done(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    assert done(RUN_HERE[command]) == 0


@pytest.mark.soak
@pytest.mark.parametrize("command", given(OPERATED))
def test_a_rig_of_the_pages_is_opened_and_named_until_it_is_ended(folder, tmp_path, command):
    """The first command of the tutorial of the page is one of them, word for word."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "hil.cli", *RUN_HERE[command][1:]], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    doors = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert "command socket tcp://127.0.0.1:" in doors, said
    assert ("page http://127.0.0.1:" in doors) == ("--page" in command)


def test_every_command_that_can_be_given_is_run_here_or_stands_in_the_table_with_its_reason():
    left = [text for text, words in FOUND.items() if words[0] != "hil" and excused(text) is None]
    assert not left
    assert set(WHOLE) == set(RUN_HERE) | {text for text in WHOLE if excused(text)}
    assert len(RUN_HERE) > 75
    assert "hil operate sim_impact --page --set trial.start_distance_m=1.5" in OPERATED


def test_every_row_of_the_variants_is_of_a_command_of_the_pages_and_every_command_is_run_in_one_form():
    assert all(any(row.fullmatch(text) for text in RUN_HERE) for row in VARIANTS)
    run_at_once = {words[1] for text, words in RUN_HERE.items() if not any(row.fullmatch(text) for row in VARIANTS)}
    assert run_at_once == {words[1] for words in RUN_HERE.values()}


def test_every_row_of_the_table_is_of_a_command_of_the_pages_and_names_what_there_is():
    used = {row for text in (*FOUND, *WHOLE) for row in NOT_RUN if re.fullmatch(row, text)}
    assert used == NOT_RUN.keys()
    places = [place for why in NOT_RUN.values() for place in re.findall(r"tests/[\w/.*]*[\w*]", why)]
    missing = [place for place in places if not list(ROOT.glob(place))]
    assert places
    assert not missing
