"""Chromium of the system, for the tests that look at pages."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium")
# As root it has no sandbox of its own, and it must not look for hosts of its maker.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


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
