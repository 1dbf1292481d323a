"""Who may open the page: whoever knows its token, from a page of this server."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from hil.messages.endpoints import is_local
from hil.operator.command_messages import MOST_NAME_BYTES, fits_names, is_client_name

# Names of operators are cut to so many characters and bytes, so that a viewer's name is one of a client.
LONGEST_NAME, _MOST_BYTES = 20, MOST_NAME_BYTES - 7
# A session in which nobody does anything, and that does not hold the lease, ends after so long [s].
IDLE_S = 3600.0


class Session:
    """What one login has opened.

    Args:
        name: of the operator; "": not known yet.
        now_s: monotonic clock [s].
    """

    def __init__(self, name: str, now_s: Callable[[], float]) -> None:
        self.name, self._now_s = name, now_s
        self._ended = False
        self.used()

    def used(self) -> None:
        """Somebody has done something in it."""
        self._used_s = self._now_s()

    def end(self) -> None:
        """Somebody has logged out."""
        self._ended = True

    @property
    def over(self) -> bool:
        """It is not valid any more."""
        return self._ended or self._now_s() - self._used_s > IDLE_S


class PageAccess:
    """Checks tokens, sessions and origins.

    A session is a cookie that only somebody with the token can make: it is still valid after a restart of the server.

    Args:
        ticket: file of the token in the printed address, which opens one session; None: there is none.
        now_s: monotonic clock [s].

    Attributes:
        cookie: name of the session's cookie. It holds the port, because browsers share cookies between ports.
    """

    def __init__(
        self,
        token: bytes,
        address: str,
        *,
        encrypted: bool,
        ticket: Path | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token, self._scheme = token, "https" if encrypted else "http"
        self._address, self._port = address, address.rpartition(":")[2]
        self._local = is_local(f"tcp://{address}")
        self._ticket, self._now_s = ticket, now_s
        self._sessions: dict[str, Session] = {}
        self.cookie = f"rover_hil_{self._port}"

    def known(self, token: str) -> bool:
        """Whether that is the token, or the one of the printed address, which is worth nothing from now on."""
        given = token.strip().lower().encode()
        return hmac.compare_digest(given, self._token.hex().encode()) or self._takes_ticket(given)

    def _takes_ticket(self, given: bytes) -> bool:
        """Whether that is the token of the printed address; its file is removed, so that no restart makes it valid."""
        try:
            if self._ticket is None or not hmac.compare_digest(given, self._ticket.read_bytes().strip()):
                return False
            self._ticket.unlink()
        except FileNotFoundError:  # it was used
            return False
        return True

    def session(self, name: str) -> str:
        """The Set-Cookie header that opens a session.

        Args:
            name: of the operator, in letters of any language; characters that names of clients cannot have are left
                out.
        """
        plain = fits_names(name)[:LONGEST_NAME].encode()[:_MOST_BYTES].decode(errors="ignore").strip()
        shown = base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")
        content = f"{shown}.{secrets.token_hex(8)}"
        return self._set_cookie(f"{content}.{self._code(content)}")

    def no_session(self) -> str:
        """The Set-Cookie header that removes the cookie."""
        return f"{self._set_cookie('')}; Max-Age=0"

    def opened(self, headers: Mapping[str, str]) -> Session | None:
        """The session that a request belongs to; None: none that is valid."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        content, _, code = (cookie.value if cookie else "").rpartition(".")
        if not content or not hmac.compare_digest(code.encode(), self._code(content).encode()):
            return None
        if content not in self._sessions:  # new, or of a server that was restarted
            self._sessions[content] = Session(_name_in(content), self._now_s)
        session = self._sessions[content]
        return None if session.over else session

    def host_is_ours(self, headers: Mapping[str, str]) -> bool:
        """Whether a request is addressed to this server; a name that was bent to a loopback address is not."""
        host, _, port = headers.get("host", "").rpartition(":")
        return not self._local or (port == self._port and is_local(f"tcp://{host}:{port}"))

    def origin_is_ours(self, headers: Mapping[str, str]) -> bool:
        """Whether a request was sent by a page of this server."""
        return headers.get("origin") == f"{self._scheme}://{headers.get('host')}"

    def _set_cookie(self, value: str) -> str:
        secure = "; Secure" if self._scheme == "https" else ""
        return f"{self.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _code(self, content: str) -> str:
        return hmac.new(self._token, f"session {content}".encode(), hashlib.sha256).hexdigest()


def _name_in(content: str) -> str:
    """The operator's name in what a cookie holds."""
    shown = content.partition(".")[0]
    try:
        return base64.urlsafe_b64decode(shown + "=" * (-len(shown) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def viewer_name(operator: str) -> str:
    """A name for one viewer of that operator, as other clients see it."""
    name = f"{operator}-{secrets.token_hex(3)}"
    assert is_client_name(name)
    return name
