"""A browser that logs in to the real page server."""

from __future__ import annotations

import pytest

PAGE_TOKEN = bytes(range(32, 64)).hex()

pytestmark = pytest.mark.slow


def test_the_address_that_is_printed_logs_in_and_shows_the_state(served, opened, show):
    show(state="idle", message="ready: take the lease and arm")
    page = opened(f"http://{served.address}/#token={PAGE_TOKEN}")
    page.locator("#lines").filter(has_text="ready: take the lease and arm").wait_for()
    assert PAGE_TOKEN not in page.url


def test_a_wrong_token_shows_the_form_again(served, opened):
    page = opened(f"http://{served.address}/#token={'0' * 64}")
    page.get_by_role("alert").filter(has_text="token").wait_for()
    assert page.locator("#stop").count() == 0
