"""Who may open the page: whoever knows its token, from a page of this server."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

from hil.messages.endpoints import is_local
from hil.operator.command_messages import CLIENT_NAME

# Names of operators are cut, so that a viewer's name is one of a client.
LONGEST_NAME = 20
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_@-]+")


class PageAccess:
    """Checks tokens, sessions and origins.

    A session is a cookie that only somebody with the token can make: it is still valid after a restart of the server.

    Args:
        token: that opens a session.
        address: where the server listens, ADDRESS:PORT.
        encrypted: the server speaks TLS.

    Attributes:
        cookie: name of the session's cookie. It holds the port, because browsers share cookies between ports.
    """

    def __init__(self, token: bytes, address: str, *, encrypted: bool) -> None:
        self._token, self._scheme = token, "https" if encrypted else "http"
        self._address, self._port = address, address.rpartition(":")[2]
        self._local = is_local(f"tcp://{address}")
        self.cookie = f"rover_hil_{self._port}"

    def known(self, token: str) -> bool:
        """Whether that is the token."""
        return hmac.compare_digest(token.strip().lower().encode(), self._token.hex().encode())

    def session(self, name: str) -> str:
        """The Set-Cookie header that opens a session.

        Args:
            name: of the operator; characters that names of clients cannot have are left out.
        """
        plain = _NOT_IN_NAMES.sub("", name)[:LONGEST_NAME] or "page"
        content = f"{plain}.{secrets.token_hex(8)}"
        return self._set_cookie(f"{content}.{self._code(content)}")

    def no_session(self) -> str:
        """The Set-Cookie header that ends a session."""
        return f"{self._set_cookie('')}; Max-Age=0"

    def operator(self, headers: Mapping[str, str]) -> str | None:
        """Name of the operator whose session a request belongs to; None: to none.

        Args:
            headers: of the request, names in lower case.
        """
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        content, _, code = (cookie.value if cookie else "").rpartition(".")
        if not content or not hmac.compare_digest(code.encode(), self._code(content).encode()):
            return None
        return content.partition(".")[0]

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


def viewer_name(operator: str) -> str:
    """A name for one viewer of that operator, as other clients see it."""
    name = f"{operator}-{secrets.token_hex(3)}"
    assert CLIENT_NAME.fullmatch(name)
    return name
