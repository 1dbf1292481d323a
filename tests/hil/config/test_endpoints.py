"""Other computers reach an endpoint only with keys: everything else is refused when the config is read."""

from __future__ import annotations

import pytest

from hil.config import Config, ConfigError, load_config
from hil.config.schema.equipment import is_local

KEYS = "{secret: keys/rig.key_secret, clients: keys/clients}"
OUTSIDE = [
    "tcp://0.0.0.0:9872",
    "tcp://192.168.1.20:9872",
    "tcp://*:9872",
    "tcp://rig.lab.example:9872",
    "tcp://eth0:9872",
    "tcp://lo:9872",
    "tcp://127.0.0.1.example:9872",
    "tcp://0:9872",
]


def refused(*overrides: str) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        load_config("sim_impact", overrides)
    return {problem.key: str(problem) for problem in caught.value.problems}


@pytest.mark.parametrize("endpoint", OUTSIDE)
@pytest.mark.parametrize("section", ["operator", "telemetry"])
def test_an_endpoint_that_other_computers_reach_is_refused_without_keys(section: str, endpoint: str) -> None:
    problems = refused(f"{section}.endpoint='{endpoint}'")
    assert set(problems) == {f"{section}.endpoint"}
    assert f"{section}.keys" in problems[f"{section}.endpoint"]
    assert load_config("sim_impact", [f"{section}.endpoint='{endpoint}'", f"{section}.keys={KEYS}"]) is not None


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:9872", "tcp://127.3.2.1:1", "tcp://localhost:9872"])
def test_an_endpoint_of_this_computer_needs_no_keys(endpoint: str) -> None:
    assert is_local(endpoint)
    config = load_config("sim_impact", [f"operator.endpoint={endpoint}", f"telemetry.endpoint={endpoint}"])
    assert config.operator.endpoint == config.telemetry.endpoint == endpoint


def test_without_a_word_in_the_config_both_doors_open_on_this_computer_only() -> None:
    config = Config(name="defaults", rig="simulated")
    assert is_local(config.operator.endpoint)
    assert is_local(config.telemetry.endpoint)
    assert config.operator.console_lost == "stop"


PAGE = {
    "operator.page.certificate": "rig.crt",
    "operator.page.certificate_key": "rig.pem",
    "operator.page.client_key": "page.key_secret",
    "operator.keys": KEYS,
}


@pytest.mark.parametrize("address", ["0.0.0.0:8080", "192.168.1.20:*", "rig.lab.example:443", "*:8080", "lo:8080"])
@pytest.mark.parametrize("left_out", [*PAGE, None])
def test_the_page_is_off_this_computer_only_with_tls_and_keys(address: str, left_out: str | None) -> None:
    given = [
        f"operator.page.address='{address}'",
        *(f"{key}={value}" for key, value in PAGE.items() if key != left_out),
    ]
    if left_out is None:
        assert load_config("sim_impact", given).operator.page.address == address
    else:
        assert set(refused(*given)) <= {
            "operator.page.address",
            "operator.page.certificate",
            "operator.page.certificate_key",
        }


def test_a_page_for_others_names_all_that_is_missing() -> None:
    (problem,) = refused("operator.page.address='0.0.0.0:8080'").values()
    assert all(key in problem for key in PAGE if key != "operator.page.certificate_key")


@pytest.mark.parametrize("key", ["certificate", "certificate_key"])
def test_a_certificate_without_its_key_is_refused(key: str) -> None:
    assert set(refused(f"operator.page.{key}=file.pem")) == {f"operator.page.{key}"}


def test_keys_of_a_file_socket_are_refused_because_they_would_protect_nothing() -> None:
    assert "telemetry.keys" in refused("telemetry.endpoint=ipc:///run/hil", f"telemetry.keys={KEYS}")


@pytest.mark.parametrize("endpoint", ["", "127.0.0.1:9872", "ipc:///run/hil", "tcp://127.0.0.1", "tcp://127.0.0.1:x"])
def test_the_command_socket_is_a_tcp_port(endpoint: str) -> None:
    assert "operator.endpoint" in refused(f"operator.endpoint='{endpoint}'")
