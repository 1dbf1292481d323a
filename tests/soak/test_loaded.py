"""`make test-loaded`: what the program does to the command that it runs."""

import subprocess
import sys
from pathlib import Path

LOADED = Path(__file__).with_name("loaded.py")
# A grandchild in a session of its own, which ends with status 7 once it has stood still, with 1 after half a minute.
GRANDCHILD = """
import sys, time
began_s = last_s = time.monotonic()
while last_s < began_s + 30.0:
    time.sleep(0.002)
    last_s, before_s = time.monotonic(), last_s
    if last_s > before_s + 0.028:
        sys.exit(7)
sys.exit(1)
"""
COMMAND = (
    f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {GRANDCHILD!r}], start_new_session=True))"
)


def loaded(*words):
    return subprocess.run([sys.executable, LOADED, *words], capture_output=True, text=True, check=False)


def test_the_status_of_the_command_is_passed_on():
    assert loaded("--", sys.executable, "-c", "raise SystemExit(5)").returncode == 5


def test_a_stall_stops_every_process_of_the_command_or_advice_is_given():
    ended = loaded("--spinning", "0", "--stalls", "--", sys.executable, "-c", COMMAND)
    if "systemd-run" in ended.stderr:  # no right to make a control group
        assert ended.returncode == 1
    else:
        assert ended.returncode == 7
        assert "the command stood still" in ended.stderr
