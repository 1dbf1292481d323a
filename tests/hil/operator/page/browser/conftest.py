"""A page in Chromium, of a scripted server or of a whole `hil operate`."""

from __future__ import annotations

import pytest

from tests.chromium import chromium  # noqa: F401 - a fixture

from .operated_rig import take_lease
from .scripted_server import ScriptedServer

# Of the operator, and the field that asks for it of whoever has the token.
NAME, ASKS_NAME = "Anna Müller", "form:not(:has(#token)) #name"


def enter(page, url, name=NAME):
    """Open an address, and give the name of an operator where it is asked for; None: it is not given."""
    page.goto(url)
    page.locator(f"#stop, {ASKS_NAME}, [role=alert]:not(:empty)").first.wait_for()
    if name and page.locator(ASKS_NAME).count():
        page.fill("#name", name)
        page.keyboard.press("Enter")
        page.locator("#stop").wait_for()


@pytest.fixture
def opened(chromium):  # noqa: F811
    """Opens an address in a context of its own (`enter`); `problems` of the page are collected, and its requests."""
    contexts = []

    def open_page(url, name=NAME, **settings):
        contexts.append(chromium.new_context(**settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)
        page.problems, page.asked = [], []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda line: line.type == "error" and page.problems.append(f"{line.text} {line.location}"))
        page.on("request", lambda request: page.asked.append(request.url))
        enter(page, url, name)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def server():
    one = ScriptedServer()
    yield one
    one.close()


@pytest.fixture
def page(server, opened):
    """The page, connected, and drawn."""
    one = opened(server.url)
    one.get_by_text("left extend").wait_for()
    return one


@pytest.fixture
def rested(processes):
    """A whole `hil operate`, which a file of tests starts as `processes`; each test leaves it at rest."""
    yield processes
    processes.rest()


@pytest.fixture
def operated_page(rested, opened):
    """The page of its operator, who holds the lease."""
    one = opened(rested.url)
    take_lease(one)
    one.problems.clear()  # the login form came with 401
    return one
