"""How a call fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import grpc


class _Entry(NamedTuple):
    """An entry of the metadata."""

    key: str
    value: str


class CallError(grpc.RpcError):  # type: ignore[misc]  # gRPC ships no types
    """A failed call, with the interface that gRPC's own errors have.

    Args:
        status: kind of the failure.
        text: its words.
        trailing: pairs of key and value that the server adds.
    """

    def __init__(self, status: grpc.StatusCode, text: str, trailing: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(text)
        self._status, self._text = status, text
        self._trailing = tuple(_Entry(key, value) for key, value in trailing)

    def code(self) -> grpc.StatusCode:
        """Its kind."""
        return self._status

    def details(self) -> str:
        """Its words."""
        return self._text

    def trailing_metadata(self) -> tuple[_Entry, ...]:
        """Returns what the server added."""
        return self._trailing


def unavailable(text: str) -> CallError:
    """There is no connection, or not any more."""
    return CallError(grpc.StatusCode.UNAVAILABLE, text)
