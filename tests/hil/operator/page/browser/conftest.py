"""Chromium of the system, and a page in it."""

from __future__ import annotations

import shutil

import pytest

from .scripted_server import ScriptedServer

# Of the operator, and the field that asks for it of whoever has the token.
NAME, ASKS_NAME = "Anna Müller", "form:not(:has(#token)) #name"
CHROMIUM = shutil.which("chromium")
# As root it has no sandbox of its own, and it must not look for hosts of its maker.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def enter(page, url, name=NAME):
    """Open an address, and give the name of an operator where it is asked for; None: it is not given."""
    page.goto(url)
    page.locator(f"#stop, {ASKS_NAME}, [role=alert]:not(:empty)").first.wait_for()
    if name and page.locator(ASKS_NAME).count():
        page.fill("#name", name)
        page.keyboard.press("Enter")
        page.locator("#stop").wait_for()


@pytest.fixture(scope="module")
def chromium():
    """A browser; a busy machine may take its time for each step."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
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
