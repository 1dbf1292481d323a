"""A server of Foxglove's WebSocket for the channels of a rig; Foxglove and Lichtblick show them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from typing import Any, Self

from drivers.extras import install_command
from hil.analysis.dataset import MissingPackageError
from hil.analysis.export.channels import SCENE, ExportChannel, scene
from hil.analysis.film.solids import Solid
from hil.app.view.origin_gate import OriginGate, hidden_host

# The scene is sent again so often, for who has just connected.
SCENE_EVERY_NS = 1_000_000_000


class ViewServerError(Exception):
    """The server cannot listen at its address."""


class ViewServer:
    """Serves channels until it is closed. A client can only look: it is sent messages, and nothing of it is read.

    Args:
        name: of what is shown.
        channels: that are served.
        solids: of the scene.
        host: address on which it listens.
        port: of it; 0: a free one.
        origins: pages whose viewers are allowed, beside those of this computer.

    Attributes:
        url: where viewers connect.

    Raises:
        MissingPackageError: foxglove-sdk is not installed.
        ViewServerError: it cannot listen there.
    """

    def __init__(
        self,
        name: str,
        channels: Iterable[ExportChannel],
        solids: list[Solid],
        host: str,
        port: int,
        origins: Sequence[str] = (),
    ) -> None:
        if importlib.util.find_spec("foxglove") is None:
            raise MissingPackageError(
                f"hil view --foxglove needs foxglove-sdk, which is not installed: {install_command('view')}"
            )
        import foxglove

        self._context = foxglove.Context()  # closes its channels when it goes
        self._channels = {
            channel.topic: foxglove.Channel(
                channel.topic,
                schema=foxglove.Schema(name=channel.schema, encoding=channel.schema_encoding, data=channel.data),
                message_encoding=channel.encoding,
                context=self._context,
            )
            for channel in channels
        }
        self._solids, self._scene_ns = solids, -SCENE_EVERY_NS
        self._gate: OriginGate | None = None
        inside = hidden_host()  # the package takes any Origin, so only the gate may know where it is
        self._server: Any = foxglove.start_server(name=name, host=inside, port=0, context=self._context)
        try:
            self._gate = OriginGate(host, port, (inside, self._server.port), origins)
        except OSError as error:
            self.close()
            raise ViewServerError(
                f"hil view cannot listen on {host}:{port}: {error}; allowed: an address of this computer and a port "
                "that no other program uses (--host, --port; port 0 takes a free one)"
            ) from None
        self.url = f"ws://{f'[{host}]' if ':' in host else host}:{self._gate.port}"

    @property
    def watched(self) -> bool:
        """Whether a client wants any of the channels."""
        return any(channel.has_sinks() for channel in self._channels.values())

    def send(self, topic: str, message: bytes, t_ns: int) -> None:
        """Send a message to all clients that want its channel; the scene before it, when that is due.

        Args:
            topic: of the channel.
            message: encoded.
            t_ns: its time [ns], since 1970.
        """
        self.show_scene(t_ns)
        self._channels[topic].log(message, log_time=max(t_ns, 0))

    def show_scene(self, t_ns: int) -> None:
        """Send the scene when it is due; time as for `send`. A time before that of the last one begins anew."""
        if not 0 <= t_ns - self._scene_ns < SCENE_EVERY_NS:
            self._scene_ns = t_ns
            self._channels[SCENE].log(scene(self._solids, t_ns), log_time=max(t_ns, 0))

    def close(self) -> None:
        """Disconnect all clients; may be called twice."""
        if self._gate is not None:
            self._gate.close()
        if self._server is not None:
            self._server.stop()
            self._server = None
        for channel in self._channels.values():
            channel.close()
        self._channels = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
