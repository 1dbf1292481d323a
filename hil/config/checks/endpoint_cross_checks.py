"""Cross-checks of the endpoints that other programs connect to."""

from __future__ import annotations

from collections.abc import Iterator

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from hil.messages.endpoints import is_local


def endpoint_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    return [*_without_keys(config), *_ipc_with_keys(config), *_of_the_page(config)]


def _without_keys(config: UncheckedConfig) -> Iterator[Problem]:
    for name, section in (("operator", config.operator), ("telemetry", config.telemetry)):
        if section.keys is None and not is_local(section.endpoint):
            allowed = (
                f"an address of this computer alone (tcp://127.0.0.1:PORT), or {name}.keys: other computers can reach "
                "this one, and without keys anyone could connect (hil keys new)"
            )
            yield Problem(f"{name}.endpoint", section.endpoint, allowed, (f"{name}.keys",))


def _ipc_with_keys(config: UncheckedConfig) -> Iterator[Problem]:
    if config.telemetry.keys is not None and not config.telemetry.endpoint.startswith("tcp://"):
        allowed = "null: keys protect an endpoint tcp://ADDRESS:PORT"
        yield Problem("telemetry.keys", "keys", allowed, ("telemetry.endpoint",))


def _of_the_page(config: UncheckedConfig) -> Iterator[Problem]:
    operator, page = config.operator, config.operator.page
    if (page.certificate is None) != (page.certificate_key is None):
        there, missing = ("certificate", "certificate_key") if page.certificate else ("certificate_key", "certificate")
        allowed = f"null, or operator.page.{missing} as well: TLS needs both"
        yield Problem(f"operator.page.{there}", "a file", allowed, (f"operator.page.{missing}",))
    secure = {
        "operator.page.certificate": page.certificate,
        "operator.page.client_key": page.client_key,
        "operator.keys": operator.keys,
    }
    missing_keys = tuple(key for key, value in secure.items() if value is None)
    if missing_keys and not is_local(f"tcp://{page.address}"):
        allowed = (
            f"an address of this computer alone (127.0.0.1:PORT), or {', '.join(missing_keys)} as well: other "
            "computers can reach this one, so the page needs TLS and keys (docs/how-to/operate-from-the-page.md)"
        )
        yield Problem("operator.page.address", page.address, allowed, missing_keys)
