"""`hil operate CONFIG --page` in processes of its own, as a user starts it, and what a script can learn of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hil.bench.conditions import seconds_used as descendants
from hil.operator import client as client_module
from hil.operator.client import CommandClient, CommandError
from hil.operator.runtime_folder import read_token
from hil.recording import TrialRecord, read_trial

LONGEST_S = 300.0
# A press that is not possible, or has no effect, for so long is tried again [ms].
PRESS_MS = 4000.0


class OperatedRig:
    """The processes, and a client of theirs.

    Args:
        folder: for runs and runtime files.
        config: of the rig.
        settings: of it.
        more: further arguments.

    Attributes:
        url: of the page, with a token that opens it as often as a test needs; the printed one does once.
        client: of the command socket.
        runs: folder of the runs.
        given: value at the start of each setting that tests change.
    """

    def __init__(self, folder: Path, config: str, settings: Sequence[str], more: Sequence[str] = ()) -> None:
        self.runs = folder / "runs"
        self.given: dict[str, float] = {}
        command = [
            sys.executable,
            "-P",
            "-m",
            "hil.cli",
            "operate",
            config,
            "--page",
            "--json",
            "--out",
            str(self.runs),
        ]
        for setting in (*settings, f"telemetry.endpoint=tcp://127.0.0.1:{_free_port()}"):
            command += ["--set", setting]
        command += more
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self._process.stdout is not None
        doors = json.loads(self._process.stdout.readline())
        page_token = read_token(Path(doors["page_token_file"]))
        self.url = f"{doors['url'].partition('#')[0]}#token={page_token.hex()}"
        token = read_token(Path(doors["token_file"]))
        self.client = CommandClient(doors["command_endpoint"], token=token, name="script")
        self.until(state="idle")

    def until(self, **wanted: Any) -> dict[str, Any]:
        """The status, once it has these values."""
        return self.client.wait_until(
            lambda status: {key: status.get(key) for key in wanted} == wanted, within_s=LONGEST_S
        )

    def asks(self, key: str) -> bool:
        """Whether the campaign asks that question now."""
        question = self.client.status()["question"]
        return question is not None and question["key"] == key

    def over(self) -> dict[str, Any]:
        """The status, once no run is on; a rig that has failed is closed, and the next arming opens it again."""
        return self.client.wait_until(
            lambda status: status["state"] in ("idle", "closed") and not status["running"], within_s=LONGEST_S
        )

    def rest(self) -> None:
        """End what goes on: then there is no run, no fault and no lease, and the settings are those of the start."""
        self.client.stop()
        self.over()
        self.client.release_lease()
        self._until_free()  # a page that was closed holds it until it is missed
        while faults := self.client.status()["faults"]:
            with self.client.lease():
                self.client.clear(faults[0]["number"])
                self.client.wait_until(lambda status: status["faults"] != faults, within_s=LONGEST_S)
        give_up = time.monotonic() + LONGEST_S
        while changed := self.client.status()["settings"]["changed"]:
            assert time.monotonic() < give_up
            with suppress(CommandError), self.client.lease():  # a busy machine may lose the lease meanwhile
                self.client.set({key: self.given[key] for key in changed}, within_s=LONGEST_S)
        self._until_free()

    def _until_free(self) -> None:
        self.client.wait_until(lambda status: not status["holder"], within_s=LONGEST_S)

    def record(self) -> TrialRecord:
        """The record of the newest run, which is over."""
        return read_trial(Path(self.client.status()["run"]))

    def server(self) -> int | None:
        """Process id of the page server; None: it is not there."""
        for pid in descendants(self._process.pid):
            with suppress(OSError):
                if b"hil.processes\0page_server" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
        return None

    def close(self) -> None:
        """End all processes."""
        self.client.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def operated(folder: Path, config: str, settings: Sequence[str], more: Sequence[str] = ()) -> Iterator[OperatedRig]:
    """A rig whose command server lives, however late it answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client_module, "ANSWER_S", LONGEST_S)
        rig = OperatedRig(folder, config, settings, more)
        yield rig
        rig.close()


def take_lease(page):
    """Take the lease, as soon as nobody else holds it; on a busy machine the server may not answer the first press."""
    take, release = (page.get_by_role("button", name=f"{what} the lease") for what in ("Take", "Release"))
    from playwright.sync_api import TimeoutError  # the quick tests do without this package

    give_up = time.monotonic() + LONGEST_S
    while not release.is_visible():
        assert time.monotonic() < give_up
        with suppress(TimeoutError):
            take.click(timeout=PRESS_MS)
            release.wait_for(timeout=PRESS_MS)


def press(page, name, reached, *, held=True, before=lambda: None):
    """Press a button until something is reached: on a busy machine a press may come too late, or the lease be lost."""
    button = page.get_by_role("button", name=name, exact=True)
    from playwright.sync_api import TimeoutError

    give_up = time.monotonic() + LONGEST_S
    while not reached():
        assert time.monotonic() < give_up
        with suppress(TimeoutError):  # the button is not there any more, because it was reached meanwhile
            take_lease(page)
            before()
            button.click(timeout=PRESS_MS, trial=held)  # a trial waits until it can be pressed
            if held:
                button.hover(timeout=PRESS_MS)
                page.mouse.down()
        look_again = time.monotonic() + 1e-3 * PRESS_MS
        while not reached() and time.monotonic() < look_again:
            time.sleep(0.05)
        page.mouse.up()
