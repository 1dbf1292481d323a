"""Commands of the README and the docs are run to their end in a reader's folder; what is not run here is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hil.cli import run
from hil.config import load_config

from .page_commands import commands, complete, copy_configs, done, pages_of_users

pytestmark = pytest.mark.slow
# What a reader has in the place of these words.
FILLED = {
    "RUN": "made/run", "runs/YOUR_RUN": "made/run", "RUN|CAMPAIGN": "made/run", "CAMPAIGN": "made/campaign",
    "A": "made/campaign", "B": "made/campaign", "N": "3", "DIR": "made/compared", "FOLDER": "made",
}  # fmt: skip
PLAN = (
    "name: two\nangles_deg: [60, 70]\nrepeats: 2\n"
    "set: {trial.start_distance_m: 0.03, trial.ramp_s: 0.1, trial.settle_s: 0.5, record.after_s: 0.5}\n"
)
# Commands that are not run here; they come to their work in test_commands.py all the same.
ELSEWHERE = {
    "bench": "measures a machine that does nothing else: tests/hil/cli/test_cli_bench.py",
    "campaign": "51 trials: tests/hil/campaign",
    "command": "needs a running hil operate: tests/hil/cli/test_cli_command.py",
    "devices": "shows what this computer has: tests/hil/cli/test_cli_devices.py",
    "drawbar": "a hundred runs: tests/hil/campaign",
    "faults": "a hundred runs: tests/hil/app/faults",
    "jog": "asks who sits at the terminal: tests/hil/cli/test_cli_jog.py",
    "recover": "needs a run that was killed: tests/hil/analysis/test_afterwards.py",
    "sim": "serves until it is ended: tests/hil/cli/test_cli_sim.py",
    "slope": "a hundred runs: tests/hil/campaign",
    "sweep": "a hundred runs: tests/hil/campaign",
    "valve": "asks who sits at the terminal: tests/hil/cli/test_cli_jog.py",
}


def in_virtual_time(words):
    """Whether a command needs neither a real rig nor a machine that holds real time."""
    if words[1] not in ("run", "trial", "check", "operate"):
        return True
    config = load_config(words[2].removesuffix(".yaml"))
    clock = words[words.index("--clock") + 1] if "--clock" in words else config.clock
    return config.rig != "real" and clock == "lockstep"


def whole(text):
    """Commands of a text that can be run here, each as a reader gives it."""
    filled = ([FILLED.get(word, word) for word in words] for words in commands(text) if words[0] == "hil")
    return [words for words in filled if len(words) > 1 and complete(words) and in_virtual_time(words)]


FOUND = {" ".join(words): words for text in pages_of_users().values() for words in whole(text)}
RUN_HERE = {text: words for text, words in FOUND.items() if words[1] not in ELSEWHERE}
OPERATED = [text for text, words in RUN_HERE.items() if words[1] == "operate"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with copies of the configs, a run and a campaign."""
    place = tmp_path_factory.mktemp("reader")
    copy_configs(place)
    (place / "plan.yaml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["trial", "sim_impact", "--out", "made/run"]) == 0
        assert run(["campaign", "sim_impact", "--plan", "plan.yaml", "--out", "made/campaign"]) == 0
    return place


@pytest.mark.parametrize("command", sorted(RUN_HERE.keys() - set(OPERATED)))
def test_a_command_of_the_pages_is_done(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    assert done(RUN_HERE[command]) == 0


@pytest.mark.parametrize("command", sorted(OPERATED))
def test_a_rig_of_the_pages_is_opened_and_named_until_it_is_ended(tmp_path, command):
    """The first command of the tutorial of the page is one of them, word for word."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "hil.cli", *RUN_HERE[command][1:]], cwd=tmp_path, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    doors = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert "command socket tcp://127.0.0.1:" in doors, said
    assert ("page http://127.0.0.1:" in doors) == ("--page" in command)


def test_what_is_not_run_here_is_on_the_pages():
    assert {words[1] for words in FOUND.values()} >= ELSEWHERE.keys()
    assert len(RUN_HERE) > 30
    assert "hil operate sim_impact --page --set trial.start_distance_m=1.5" in OPERATED
