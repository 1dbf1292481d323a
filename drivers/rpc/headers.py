"""Header blocks of HTTP/2: written in the simplest form of RFC 7541, read in every form."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import hpack

# Entries of the static table (RFC 7541, appendix A).
POST, HTTP, OK = b"\x83", b"\x86", b"\x88"
# The same calls have the same header blocks; more of them than this are not kept.
_KEPT = 256
_LONGEST = 127  # a longer text has its length in several bytes
_PREFIX_FULL = 0x7F

Headers = dict[str, str]


@lru_cache(maxsize=256)
def field(name: str, value: str) -> bytes:
    """A field in plain text, which neither end keeps in a table."""
    return b"\0" + _text(name) + _text(value)


def fields(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Several fields."""
    return b"".join(field(name, value) for name, value in pairs)


def _text(text: str) -> bytes:
    data = text.encode("ascii")
    length, head = len(data), bytearray()
    if length < _LONGEST:
        return bytes((length,)) + data
    head.append(_PREFIX_FULL)
    length -= _LONGEST
    while length >= 0x80:
        head.append(0x80 | length & 0x7F)
        length >>= 7
    head.append(length)
    return bytes(head) + data


def _as_text(pair: tuple[str | bytes, str | bytes]) -> tuple[str, str]:
    name, value = (item if isinstance(item, str) else item.decode("latin-1") for item in pair)
    return name, value


class HeaderReader:
    """Reads the header blocks of a connection, in their order.

    A block that was read while the peer's table was empty, and left it empty, means the same whenever the table is
    empty: it is read once only.
    """

    def __init__(self) -> None:
        self._decoder = hpack.Decoder()
        self._known: dict[bytes, Headers] = {}

    def read(self, block: bytes) -> Headers:
        """The fields of a block; of several with one name the last. Raises hpack.HPACKError."""
        table = self._decoder.header_table.dynamic_entries
        if not table and (known := self._known.get(block)) is not None:
            return known
        was_empty = not table
        read: Headers = dict(map(_as_text, self._decoder.decode(block)))
        if was_empty and not table and len(self._known) < _KEPT:
            self._known[block] = read
        return read
