"""A site with the settings of docs/conf.py, read from a disk: versions, dark mode, narrow screens, no network."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.chromium import chromium  # noqa: F401  the fixture

from .page_commands import ROOT

pytestmark = pytest.mark.slow
WIDE = f"| {' | '.join(f'column_{number}_with_a_long_name' for number in range(12))} |\n|{'---|' * 12}\n"


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """Two versions of a small site beside one another; only the newer one has a second page."""
    folder = tmp_path_factory.mktemp("sites")
    pages = folder / "pages"
    pages.mkdir()
    (pages / "index.md").write_text(f"# First\n\n{WIDE}\n```\n{'long ' * 60}\n```\n\n```{{toctree}}\nsecond\n```\n")
    (pages / "second.md").write_text("# Second\n\nWhere the gearbox is.\n")
    for kind in ("decisions", "how-to"):
        (pages / kind).mkdir()
        (pages / kind / "wheels.md").write_text(f"---\norphan: true\n---\n# Wheels: {kind}\n\nHow wheels turn.\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(ROOT / "docs"), str(pages), str(folder / "0.2.0")]
    subprocess.run(command, check=True)
    (folder / "0.2.0" / "versions.js").write_text("")
    shutil.copytree(folder / "0.2.0", folder / "0.1.0")
    (folder / "0.1.0" / "second.html").unlink()
    subprocess.run([sys.executable, str(ROOT / "tools" / "site_versions.py"), str(folder)], check=True)
    return folder


def test_a_site_on_a_disk_has_versions_dark_mode_search_and_fits_a_phone_without_network(sites, chromium, subtests):  # noqa: F811
    context = chromium.new_context(viewport={"width": 1200, "height": 800})
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()

    with subtests.test("the same page of another version, or its first one"):
        page.goto((sites / "0.2.0" / "index.html").as_uri())
        page.locator(".versions select").first.select_option(label="0.1.0")
        page.wait_for_url("**/0.1.0/index.html")
        page.locator(".versions select").first.select_option(label="0.2.0")
        page.wait_for_url("**/0.2.0/index.html")
        page.goto((sites / "0.2.0" / "second.html").as_uri())
        page.locator(".versions select").first.select_option(label="0.1.0")
        page.wait_for_url("**/0.1.0/index.html")

    with subtests.test("dark when the computer is"):
        page.emulate_media(color_scheme="dark")
        page.goto((sites / "0.2.0" / "index.html").as_uri())
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"

    with subtests.test("search"):
        page.goto((sites / "0.2.0" / "search.html").as_uri() + "?q=gearbox")
        page.locator("#search-results a", has_text="Second").wait_for()

    with subtests.test("search puts how-to before decisions"):
        page.goto((sites / "0.2.0" / "search.html").as_uri() + "?q=wheels")
        page.locator("#search-results a", has_text="Wheels: decisions").first.wait_for()
        found = page.locator("#search-results li a").all_inner_texts()
        assert [one.partition(": ")[2] for one in found if one.startswith("Wheels")][:2] == ["how-to", "decisions"]

    with subtests.test("a wide table scrolls by itself"):
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto((sites / "0.2.0" / "index.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        frame = page.locator(".pst-scrollable-table-container")
        assert frame.evaluate("frame => frame.scrollWidth > frame.clientWidth")

    with subtests.test("no network"):
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()
