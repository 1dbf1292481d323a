"""A browser that logs in to the real page server."""

from __future__ import annotations

import pytest

from .conftest import ASKS_NAME

PAGE_TOKEN, TICKET = bytes(range(32, 64)).hex(), bytes(range(64, 96)).hex()

IDLE = {
    "state": "idle", "message": "ready: take the lease and arm", "run": "", "runs": 0, "faults": [], "warnings": [],
    "question": None,
}  # fmt: skip
pytestmark = pytest.mark.slow


def test_the_address_that_is_printed_asks_for_a_name_and_shows_the_state(served, opened, show):
    show(**IDLE)
    page = opened(f"http://{served.address}/#token={TICKET}", name=None)
    assert page.locator("#token").count() == 0
    page.fill("#name", "Anna Müller")
    page.get_by_role("button", name="Log in").click()
    page.locator("#lines").filter(has_text="ready: take the lease and arm").wait_for()
    page.locator("#you").filter(has_text="Anna Müller-").wait_for()
    assert TICKET not in page.url


def test_the_address_that_is_printed_opens_one_session_and_is_worth_nothing_in_a_history(served, opened, show):
    url = f"http://{served.address}/#token={TICKET}"
    first = opened(url, name=None)  # exchanged at once, before a name is given
    first.locator(ASKS_NAME).wait_for()
    second = opened(url)
    second.get_by_role("alert").filter(has_text="used").wait_for()
    assert second.locator("#stop").count() == 0
    third = opened(f"http://{served.address}/#token={PAGE_TOKEN}")  # that of the file, as often as it is pasted
    third.locator("#stop").wait_for()


def test_logging_out_shows_the_login_form_in_each_of_its_tabs_and_ends_the_session(served, opened, show):
    show(**IDLE)
    page = opened(f"http://{served.address}/#token={PAGE_TOKEN}")
    other = page.context.new_page()
    other.goto(f"http://{served.address}/")
    other.locator("#you").filter(has_text="Anna").wait_for()
    kept = page.context.cookies()
    page.get_by_role("button", name="Log out").click()
    for tab in (page, other):
        tab.locator("#token").wait_for()
    page.context.add_cookies(kept)
    page.goto(f"http://{served.address}/")
    page.locator("#token").wait_for()


def test_a_wrong_token_shows_the_form_again(served, opened):
    page = opened(f"http://{served.address}/#token={'0' * 64}")
    page.get_by_role("alert").filter(has_text="token").wait_for()
    assert page.locator("#stop").count() == 0
