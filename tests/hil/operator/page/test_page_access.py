"""Who may open the page: tokens, sessions, hosts and origins, without a server."""

from __future__ import annotations

import pytest

from hil.operator.command_messages import CLIENT_NAME
from hil.operator.page.access import PageAccess, viewer_name

TOKEN = bytes(range(32))
HERE = "127.0.0.1:8080"


@pytest.fixture
def access():
    return PageAccess(TOKEN, HERE, encrypted=False)


def cookie(header):
    return {"cookie": header.partition(";")[0]}


def test_the_token_is_known_and_nothing_else(access):
    assert access.known(TOKEN.hex())
    assert access.known(f" {TOKEN.hex().upper()}\n")
    assert not any(
        access.known(wrong) for wrong in ("", TOKEN.hex()[:-1], TOKEN.hex() + "0", bytes(32).hex(), "é" * 64)
    )


def test_scripts_and_other_sites_do_not_get_the_session(access):
    header = access.session("Ada")
    assert "; HttpOnly; SameSite=Strict" in header
    assert "Secure" not in header
    assert "; Secure" in PageAccess(TOKEN, "192.0.2.1:443", encrypted=True).session("Ada")


def test_a_session_survives_a_restart_of_the_server_and_ends_with_its_token(access):
    header = access.session("Ada")
    assert PageAccess(TOKEN, HERE, encrypted=False).operator(cookie(header)) == "Ada"
    assert PageAccess(bytes(32), HERE, encrypted=False).operator(cookie(header)) is None


def test_a_session_cannot_be_given_another_name_or_be_made_up(access):
    good = access.session("Ada").partition(";")[0]
    for wrong in (
        good.replace("Ada", "Ben"),
        good[:-1],
        good + "0",
        f"{access.cookie}=Ada",
        f"{access.cookie}=..",
        "",
        "=;=",
    ):
        assert access.operator({"cookie": wrong}) is None
    assert access.operator({}) is None


def test_servers_at_two_ports_do_not_take_each_others_session(access):
    assert PageAccess(TOKEN, "127.0.0.1:8081", encrypted=False).operator(cookie(access.session("Ada"))) is None


@pytest.mark.parametrize("name", ["", "Ada Lovelace", "Łukasz ☂", "a" * 50, "<b>", "a.b.c", "x;y=z\r\nSet-Cookie: a"])
def test_any_name_becomes_one_of_a_client(access, name):
    found = access.operator(cookie(access.session(name)))
    assert CLIENT_NAME.fullmatch(viewer_name(found))


def test_a_name_is_cut_after_twenty_characters(access):
    for length in (19, 20, 21):
        assert access.operator(cookie(access.session("a" * length))) == "a" * min(length, 20)


def test_two_viewers_of_one_operator_have_two_names():
    assert viewer_name("Ada") != viewer_name("Ada")


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        (HERE, True), ("localhost:8080", True), ("127.0.0.1:8081", False), ("127.0.0.1", False),
        ("rig.example:8080", False), ("127.0.0.1.example:8080", False), ("", False),
    ],
)  # fmt: skip
def test_a_name_that_was_bent_to_this_computer_is_not_ours(access, host, ours):
    assert access.host_is_ours({"host": host}) is ours


@pytest.mark.parametrize(
    ("origin", "ours"),
    [
        (f"http://{HERE}", True), (f"https://{HERE}", False), ("http://127.0.0.1:8081", False), ("null", False),
        ("http://rig.example:8080", False), (None, False),
    ],
)  # fmt: skip
def test_only_a_page_of_this_server_is_of_our_origin(access, origin, ours):
    headers = {"host": HERE} if origin is None else {"host": HERE, "origin": origin}
    assert access.origin_is_ours(headers) is ours
