"""The doors of a rig: the command socket of `hil operate`, and the keys of those who may connect."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from hil.config.schema.base import PORT, Section

# Of a text that names a file or folder.
_PATH: dict[str, Any] = {
    "pattern": r"^[^\p{C}]+$",
    "max_length": 400,
    "json_schema_extra": {"note": "a path, seen from the folder where hil is started"},
}


class KeysConfig(Section):
    """CURVE keys: of this computer, and of all clients that may connect (`hil keys new`)."""

    secret: str = Field(**_PATH, description="file of this computer's secret key; only its owner may read it")
    clients: str = Field(**_PATH, description="folder of the public keys (NAME.key) of all clients that may connect")


class _PageConfig(Section):
    """The operator's page, which `hil operate --page` serves."""

    address: str = Field(
        "127.0.0.1:*",
        pattern=rf"^[^\s:]+:(\*|{PORT})$",
        max_length=200,
        description="where browsers connect; * as the port: a free one",
        json_schema_extra={"note": "ADDRESS:PORT, or ADDRESS:* for a free port"},
    )
    certificate: str | None = Field(None, **_PATH, description="file of the TLS certificate, PEM; null: no TLS")
    certificate_key: str | None = Field(None, **_PATH, description="file of the certificate's key, PEM")
    client_key: str | None = Field(
        None,
        **_PATH,
        description="file of the page's own secret key (hil keys new), with operator.keys or telemetry.keys",
    )


class OperatorConfig(Section):
    """The command socket of `hil operate`."""

    endpoint: str = Field(
        "tcp://127.0.0.1:*",
        pattern=rf"^tcp://[^\s:]+:(\*|{PORT})$",
        max_length=200,
        description="where clients connect; * as the port: a free one",
        json_schema_extra={"note": "tcp://ADDRESS:PORT, or tcp://ADDRESS:* for a free port"},
    )
    keys: KeysConfig | None = Field(
        None, description="keys of the clients; null: whoever can read the token file, on this computer only"
    )
    console_lost: Literal["stop", "finish"] = Field(
        "stop", description="a run whose operator lease has expired stops, or finishes"
    )
    page: _PageConfig = Field(default_factory=_PageConfig, description="where the page is served")
