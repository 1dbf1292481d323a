"""A page in Chromium, of a scripted server or of a whole `hil operate`."""

from __future__ import annotations

import pytest

from tests.chromium import chromium  # noqa: F401 - a fixture

from .operated_rig import take_lease
from .scripted_rig import STATUS
from .scripted_server import ScriptedServer

# Of the operator, and the field that asks for it of whoever has the token.
NAME, ASKS_NAME = "Anna Müller", "form:not(:has(#token)) #name"
SCREEN = {"width": 1280, "height": 720}


def enter(page, url, name=NAME):
    """Open an address, and give the name of an operator where it is asked for; None: it is not given."""
    page.goto(url)
    page.locator(f"#stop, {ASKS_NAME}, [role=alert]:not(:empty)").first.wait_for()
    if name and page.locator(ASKS_NAME).count():
        page.fill("#name", name)
        page.keyboard.press("Enter")
        page.locator("#stop").wait_for()


def watched(page):
    """A new page whose problems are collected, and its requests."""
    page.set_default_timeout(120_000)
    page.problems, page.asked = [], []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda line: line.type == "error" and page.problems.append(f"{line.text} {line.location}"))
    page.on("request", lambda request: page.asked.append(request.url))
    return page


@pytest.fixture
def opened(chromium):  # noqa: F811
    """Opens an address in a context of its own (`enter`, `watched`)."""
    contexts = []

    def open_page(url, name=NAME, **settings):
        contexts.append(chromium.new_context(**settings))
        page = watched(contexts[-1].new_page())
        enter(page, url, name)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def serving(chromium):  # noqa: F811
    """A scripted server, and a context whose pages read its files once."""
    one = ScriptedServer()
    yield one, chromium.new_context()
    one.close()


@pytest.fixture
def server(serving):
    """The scripted server, as new."""
    one, _ = serving
    yield one
    one.begin()


@pytest.fixture
def shown(server, serving, chromium):  # noqa: F811
    """Opens the page of the scripted server, which follows it (`ScriptedServer.follow`)."""
    pages = []

    def open_page(*, viewport=SCREEN, has_touch=False, **media):
        context = chromium.new_context(has_touch=True) if has_touch else serving[1]
        pages.append(watched(context.new_page()))
        pages[-1].set_viewport_size(viewport)
        pages[-1].emulate_media(**media)
        pages[-1].goto(server.url)
        server.follow(pages[-1])
        return pages[-1]

    open_page.pages = pages
    yield open_page
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def lasting(serving):
    """A page with a scripted server of its own, which the tests of a file share."""
    server = ScriptedServer()
    page = watched(serving[1].new_page())
    page.goto(server.url)
    server.follow(page)
    yield page, server
    page.close()
    server.close()


@pytest.fixture
def still(lasting):
    """A page and its server, for tests that change only its size, its colours and the status; these are as new."""
    page, server = lasting
    page.set_viewport_size(SCREEN)
    page.emulate_media(color_scheme="light")
    page.evaluate("scrollTo(0, 0)")
    server.status = dict(STATUS)
    server.send(server.status)
    return page, server


@pytest.fixture
def page(shown):
    """The page, connected, and drawn."""
    return shown()


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
