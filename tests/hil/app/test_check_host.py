"""`hil check` says who may send commands to the rig."""

from __future__ import annotations

from hil.app.check.host import check_host
from hil.config import load_config
from hil.operator.curve import new_keys

QUIET = "telemetry.endpoint=''"


def command_socket(*overrides):
    checks = check_host(load_config("sim_impact", [QUIET, *overrides]))
    return next(check for check in checks if check.item == "command socket")


def test_without_keys_programs_of_this_user_may_send_commands():
    check = command_socket()
    assert check.ok
    assert "this user on this computer" in check.found


def test_the_clients_whose_keys_are_allowed_are_named(tmp_path):
    _, secret = new_keys("rig", tmp_path / "keys")
    (tmp_path / "clients").mkdir(mode=0o700)
    keys = f"operator.keys={{secret: {secret}, clients: {tmp_path / 'clients'}}}"
    assert command_socket(keys).found == "keys of nobody"
    for name in ("anna", "ben"):
        public, _ = new_keys(name, tmp_path / "keys")
        (tmp_path / "clients" / public.name).write_bytes(public.read_bytes())
    assert command_socket(keys).found == "keys of anna, ben"


def test_keys_that_are_not_in_order_are_a_failed_check(tmp_path):
    _, secret = new_keys("rig", tmp_path / "keys")
    secret.chmod(0o644)
    check = command_socket(f"operator.keys={{secret: {secret}, clients: {tmp_path}}}")
    assert not check.ok
    assert "chmod 600" in check.found
