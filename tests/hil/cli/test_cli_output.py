"""Where standard output cannot be written a sentence says so; a reader who has left is no error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")
ENERGY = ["energy", "sim_impact", "--angles", "60:70:10", "--json"]
COMMANDS = [["configs"], ["--help"], ["--version"], ["explain", "2"]]
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def hil(arguments, stdout, stderr=subprocess.PIPE):
    command = [sys.executable, "-m", "hil.cli", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=stderr, text=True, check=False)


def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


@pytest.mark.ci_cases("configs", "--help")
@needs_full
@pytest.mark.parametrize("arguments", [*COMMANDS, ENERGY], ids=" ".join)
def test_output_that_cannot_be_written_ends_with_a_sentence_and_status_two(arguments):
    with FULL.open("w") as full:
        done = hil(arguments, full)
    *_, last = done.stderr.splitlines()  # a slow computer shows its progress first
    assert last == "hil: standard output cannot be written: No space left on device"
    assert done.returncode == 2


@pytest.mark.ci_cases("configs", "--help")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_who_has_left_is_no_error(arguments):
    with closed_pipe() as pipe:
        done = hil(arguments, pipe)
    # In a clone without tags the version is followed by advice, which is no error either.
    errors = [line for line in done.stderr.splitlines() if not line.startswith("hil: a clone without tags")]
    assert (done.returncode, errors) == (0, [])


def test_a_reader_who_has_left_does_not_change_what_a_command_found(tmp_path):
    (tmp_path / "trial.h5").write_bytes(b"\0" * 5000)
    with closed_pipe() as pipe:
        assert hil(["verify", str(tmp_path)], pipe).returncode == 1


@needs_full
def test_a_message_that_cannot_be_written_does_not_change_the_status():
    with FULL.open("w") as full:
        assert hil(["energy", "missing.yaml"], subprocess.PIPE, full).returncode == 2


def test_a_command_runs_with_its_output_closed():
    command = f"{sys.executable} -m hil.cli configs >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_can_be_written_is_written():
    done = hil(ENERGY, subprocess.PIPE)
    assert done.returncode == 0
    assert json.loads(done.stdout)
