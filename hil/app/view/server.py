"""A server of Foxglove's WebSocket for the channels of a rig; Foxglove and Lichtblick show them.

The door of a view server: it looks at the Origin of each connection, which the server behind it does not.

A browser sends with each WebSocket the address of the page that opens it. Without a look at it, a page of anywhere
could read a rig that its user can reach. Programs that are no browsers send none.
"""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from typing import Any, Self
from urllib.parse import urlsplit

from drivers.extensions import install_command
from hil.analysis.dataset import MissingPackageError
from hil.analysis.export.channels import SCENE, ExportChannel, scene
from hil.analysis.film.solids import Solid

# A request has at most so many bytes, and is there after so long [s].
MOST_REQUEST, REQUEST_S = 8192, 10.0
CHUNK = 65536
# Where a page of this computer comes from; a viewer that is a separate program loads its page from a file.
_OWN_HOSTS, _OWN_PAGES = ("localhost", "127.0.0.1", "::1"), ("file://",)
_END = b"\r\n\r\n"
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def hidden_host() -> str:
    """An address of this computer that no page can guess: 24 bits, in addition to those of the port."""
    return f"127.{secrets.randbelow(255) + 1}.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"


def is_allowed(request: bytes, origins: Sequence[str]) -> bool:
    """Whether a request comes from a program, from a page of this computer, or from an allowed one.

    Args:
        request: its head.
        origins: pages that are allowed, as `https://HOST` or `https://HOST:PORT`.
    """
    lines = [line.partition(b":") for line in request.split(b"\r\n")[1:]]
    found = [value.strip().decode("latin-1") for name, _, value in lines if name.strip().lower() == b"origin"]
    for origin in found:
        try:
            own = urlsplit(origin).hostname in _OWN_HOSTS
        except ValueError:
            return False
        if not (own or origin in _OWN_PAGES or origin in origins):
            return False
    return len(found) <= 1


class OriginGate:
    """Listens, and passes on what is allowed to a server, until it is closed.

    Args:
        port: of it; 0: a free one.
        origins: pages that are allowed in addition to those of this computer.

    Attributes:
        port: on which it listens.

    Raises:
        OSError: it cannot listen there.
    """

    def __init__(self, host: str, port: int, behind: tuple[str, int], origins: Sequence[str] = ()) -> None:
        self._behind, self._origins = behind, origins
        self._loop = asyncio.new_event_loop()
        try:
            listening = asyncio.start_server(self._serve, host, port, limit=MOST_REQUEST)
            self._server = self._loop.run_until_complete(listening)
        except BaseException:
            self._loop.close()
            raise
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, name="view door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close it and all its connections; may be called twice."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError), closing(writer):
            request = await asyncio.wait_for(reader.readuntil(_END), REQUEST_S)
            if not is_allowed(request, self._origins):
                writer.write(_REFUSED)
                await writer.drain()
                return
            from_server, to_server = await asyncio.open_connection(*self._behind)
            with closing(to_server):
                to_server.write(request)
                passing = (_pass(reader, to_server), _pass(from_server, writer))
                tasks = [asyncio.ensure_future(one) for one in passing]
                try:
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes, no faster than the other side takes it."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()


# The scene is sent again so often, for who has just connected.
SCENE_EVERY_NS = 1_000_000_000


class ViewServerError(Exception):
    """The server cannot listen at its address."""


class ViewServer:
    """Serves channels until it is closed. A client can only look: it is sent messages, and nothing of it is read.

    Args:
        port: of it; 0: a free one.
        origins: pages whose viewers are allowed, in addition to those of this computer.

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

        `t_ns`: its time [ns], since 1970.
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
