"""`hil view`: a running rig or a record in a viewer outside this program."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.run_options import Overrides, Unverified, config_from, progress
from hil.cli.terminal import usage_errors

if TYPE_CHECKING:
    from hil.config import Config
    from hil.config.rig import Rig
    from hil.messages.layout import Layout
    from hil.operator.curve import KeyPair


def view(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG|RUN",
            help="Config of the rig that runs; or folder of a run, to play it back. Without it, the newest of runs/: "
            "live while it is being recorded, played back afterwards.",
        ),
    ] = None,
    foxglove: Annotated[
        bool, typer.Option("--foxglove", help="Serve Foxglove's WebSocket, for Foxglove or Lichtblick.")
    ] = False,
    print_layout: Annotated[
        bool, typer.Option("--print-layout", help="Print a layout with panels for this rig, which a viewer imports.")
    ] = False,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where viewers connect; nobody is asked who they are.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free one.")] = 8765,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            "--origin",
            metavar="URL",
            help="Web page that may connect, as https://HOST; repeatable. Programs and pages of this computer may.",
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", metavar="tcp://ADDRESS:PORT", help="Telemetry, if not telemetry.endpoint."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="Own secret key, where telemetry has keys.")
    ] = None,
    server_key: Annotated[
        Path | None, typer.Option("--server-key", metavar="FILE", help="Public key of the rig's computer.")
    ] = None,
    overrides: Overrides = None,
    unverified: Unverified = False,
) -> None:
    """Show a running rig live, or play a record back: scene, transforms, plots and log."""
    from hil.analysis.dataset import MissingPackageError, UnverifiedRunError
    from hil.app.view.live_view import OtherRigError, layout_file
    from hil.app.view.server import ViewServerError
    from hil.config.rig import Rig
    from hil.operator.curve import KeysError
    from hil.recording import RecordError

    if not foxglove and not print_layout:
        raise typer.BadParameter("name what shows it: --foxglove; or --print-layout")
    if (key is None) != (server_key is None):
        raise typer.BadParameter("--key and --server-key go together")
    if target is None:
        target = str(_newest_run())
    recorded = Path(target).is_dir()
    if recorded and (overrides or endpoint or key):
        raise typer.BadParameter(f"{target} is the folder of a run: --set, --endpoint and --key go with a CONFIG")
    with usage_errors(
        MissingPackageError, UnverifiedRunError, OtherRigError, ViewServerError, KeysError, RecordError, OSError
    ):
        config = _config_of_run(Path(target)) if recorded else config_from(target, overrides, None, None)
        if print_layout:
            print(json.dumps(layout_file(Rig(config)), indent=1))
        elif recorded and _is_over(Path(target)):
            _play(Path(target), config.layout, host, port, unverified, origin or ())
        else:
            _follow(Rig(config), host, port, endpoint, _keys(key, server_key), origin or ())


def _newest_run() -> Path:
    """The run of the folder runs/ that was begun last. Raises BadParameter: there is none."""
    from hil.recording import FILE_NAME

    records = sorted(Path("runs").glob(f"*/{FILE_NAME}"))  # a folder's name begins with the time of its run
    if not records:
        raise typer.BadParameter(
            "no run is in runs/ under this folder: name the config of the rig, or the folder of a run"
        )
    return records[-1].parent


def _is_over(run: Path) -> bool:
    """Whether a run has its summary, or nobody records it any more."""
    from hil.experiments.summary import FILE_NAME as SUMMARY
    from hil.ipc.run_memory import FOLDER

    return (run / SUMMARY).is_file() or not (run / FOLDER).is_dir()


def _follow(
    rig: Rig,
    host: str,
    port: int,
    endpoint: str | None,
    keys: tuple[KeyPair, bytes] | None,
    origins: Sequence[str],
) -> None:
    from hil.analysis.film.solids import RigSolids
    from hil.app.view.live_view import LiveView, follow, live_channels
    from hil.app.view.server import ViewServer

    config = rig.config
    endpoint = endpoint or config.telemetry.endpoint
    if not endpoint:
        raise typer.BadParameter("telemetry.endpoint is empty, so the rig publishes nothing: set one")
    drawn = RigSolids(rig)
    with ViewServer(config.name, live_channels(rig.layout), drawn.solids(), host, port, origins) as server:
        _report(server.url, f"follows the telemetry at {endpoint}")
        follow(endpoint, LiveView(rig.layout, config.trial.start_distance_m, server, drawn), _until_stopped(), keys)


def _play(run: Path, layout: Layout, host: str, port: int, unverified: bool, origins: Sequence[str]) -> None:
    from hil.app.view.live_view import live_channels, play_back, played
    from hil.app.view.server import ViewServer

    with (
        played(run, unverified=unverified) as shown,
        ViewServer(run.resolve().name, live_channels(layout), shown.motion.rig.solids(), host, port, origins) as server,
    ):
        _report(server.url, f"plays {run} back while a viewer is connected")
        play_back(shown, server, _until_stopped())


def _config_of_run(run: Path) -> Config:
    from hil.analysis.film.moments import config_of
    from hil.recording import open_trial

    with open_trial(run) as record:
        return config_of(record)


def _keys(key: Path | None, server_key: Path | None) -> tuple[KeyPair, bytes] | None:
    from hil.operator.curve import read_key_pair, read_public_key

    return None if key is None or server_key is None else (read_key_pair(key), read_public_key(server_key))


def _report(url: str, what: str) -> None:
    print(url, flush=True)
    progress(f"{what}; in Foxglove or Lichtblick: Open connection, Foxglove WebSocket, {url}. Ctrl-C ends")


def _until_stopped() -> Callable[[], bool]:
    """Whether Ctrl-C, SIGHUP or SIGTERM has not come yet."""
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda found, _frame: stopped.append(found))
    return lambda: not stopped
