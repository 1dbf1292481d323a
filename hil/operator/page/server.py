"""Serves the page with uvicorn, on a socket that is bound before the server starts."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from hil.operator.page.messages import MOST_BYTES

# How long viewers may take to end when the server ends [s].
_ENDS_S = 1
_WAITING = 64


def bind(address: str) -> socket.socket:
    """A socket that listens at ADDRESS:PORT; * as the port: a free one. Raises ValueError: it cannot be bound."""
    host, _, port = address.rpartition(":")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a server that was killed
        listening.bind((host, 0 if port == "*" else int(port)))
        listening.listen(_WAITING)
    except OSError as error:
        listening.close()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        allowed = "ADDRESS:PORT with an address of this machine and a free port, or * as the port"
        raise ValueError(f"operator.page.address is {address}: {why}; allowed: {allowed}") from None
    return listening


def make_server(app: Starlette, certificate: Path | None, certificate_key: Path | None) -> uvicorn.Server:
    """The server of an application; SIGTERM ends it.

    `certificate`: file of the TLS certificate; None: no TLS.

    Raises:
        ValueError: certificate and key are not in order.
    """
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", server_header=False, proxy_headers=False,
        ws="websockets-sansio", ws_max_size=MOST_BYTES * 4, ws_per_message_deflate=False,
        timeout_graceful_shutdown=_ENDS_S, ssl_certfile=certificate, ssl_keyfile=certificate_key,
    )  # fmt: skip
    try:
        config.load()
    except OSError as error:
        allowed = "a certificate and its key, in PEM"
        raise ValueError(f"operator.page.certificate is {certificate}: {error}; allowed: {allowed}") from None
    return uvicorn.Server(config)


def serve(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until it is ended."""
    asyncio.run(server.serve(sockets=[listening]))
