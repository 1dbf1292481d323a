"""Who may open the page: tokens, sessions, hosts and origins, without a server."""

from __future__ import annotations

import pytest

from hil.messages.operator_input import LeaseChange, command_to_bytes
from hil.operator.command_messages import is_client_name
from hil.operator.page.viewer import IDLE_S, PageAccess, viewer_name

TOKEN = bytes(range(32))
HERE = "127.0.0.1:8080"


@pytest.fixture
def ticks():
    """Time of a monotonic clock [s]."""
    return [100.0]


@pytest.fixture
def access():
    return PageAccess(TOKEN, HERE, encrypted=False)


def cookie(header):
    return {"cookie": header.partition(";")[0]}


def operator(access, header):
    """Name of the operator whose session that is; None: of nobody."""
    session = access.opened(cookie(header))
    return session and session.name


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
    assert operator(PageAccess(TOKEN, HERE, encrypted=False), header) == "Ada"
    assert operator(PageAccess(bytes(32), HERE, encrypted=False), header) is None


def test_a_session_cannot_be_given_another_name_or_be_made_up(access):
    good = access.session("Ada").partition(";")[0]
    for wrong in (
        good.replace("=Q", "=R"),
        good[:-1],
        good + "0",
        f"{access.cookie}=Ada",
        f"{access.cookie}=..",
        "",
        "=;=",
    ):
        assert access.opened({"cookie": wrong}) is None
    assert access.opened({}) is None


def test_servers_at_two_ports_do_not_take_each_others_session(access):
    assert operator(PageAccess(TOKEN, "127.0.0.1:8081", encrypted=False), access.session("Ada")) is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Anna Müller", "Anna Müller"), ("Anna Mu\u0308ller", "Anna Müller"), ("Łukasz ☂", "Łukasz"), ("Анна", "Анна"),
        ("अंजलि", "अंजलि"), ("山田 花子", "山田 花子"), ("  Ada ", "Ada"), ("<b>", "b"), ("a.b.c", "a.b.c"), ("", ""),
        ("☂", ""), ("x;y=z\r\nSet-Cookie: a", "xyzSet-Cookie a"), ("Ada\u202eBen", "AdaBen"),
    ],
)  # fmt: skip
def test_a_name_keeps_its_letters_of_any_language_and_is_one_of_a_client(access, given, kept):
    header = access.session(given)
    assert header.isascii()
    assert operator(access, header) == kept
    assert is_client_name(viewer_name(kept))


@pytest.mark.parametrize(("letter", "most"), [("a", 20), ("ü", 20), ("山", 13), ("\U00010400", 10)])
def test_a_long_name_is_cut_so_that_who_holds_the_lease_can_be_recorded(access, letter, most):
    for length in (most - 1, most, most + 1, 50):
        name = operator(access, access.session(letter * length))
        assert name == letter * min(length, most)
        holder = viewer_name(name)
        assert is_client_name(holder)
        command_to_bytes(LeaseChange(f"{'k' * 30}: {holder}", "released"))  # with the longest key


def test_a_session_in_which_nobody_does_anything_ends(ticks):
    access = PageAccess(TOKEN, HERE, encrypted=False, now_s=lambda: ticks[0])
    header = access.session("Ada")
    for _ in range(3):  # used shortly before its end, it goes on
        access.opened(cookie(header)).used()
        ticks[0] += IDLE_S
        assert operator(access, header) == "Ada"
    ticks[0] += 1.0
    assert operator(access, header) is None


def test_who_has_logged_out_has_no_session_though_the_cookie_were_kept(access):
    header, other = access.session("Ada"), access.session("Ada")
    access.opened(cookie(header)).end()
    assert (operator(access, header), operator(access, other)) == (None, "Ada")


def test_the_token_of_the_printed_address_opens_one_session_and_none_after_a_restart(tmp_path):
    file = tmp_path / "ticket"
    file.write_text("ab" * 32 + "\n")
    access = PageAccess(TOKEN, HERE, encrypted=False, ticket=file)
    assert not access.known("cd" * 32)
    assert access.known("ab" * 32)
    for server in (access, PageAccess(TOKEN, HERE, encrypted=False, ticket=file)):
        assert not server.known("ab" * 32)
        assert server.known(TOKEN.hex())


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
