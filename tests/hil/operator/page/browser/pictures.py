"""The pictures of the page in the docs, taken of the rig that the browser tests operate.

Run: python -m tests.hil.operator.page.browser.pictures docs/images    (a minute; needs chromium)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.chromium import CHROMIUM, FLAGS

from .conftest import enter
from .operated_rig import OperatedRig, press
from .test_operated_rig import PLAN, SETTINGS, drives


def take(rig: OperatedRig, page: Page, folder: Path) -> None:
    """Take them, one after the other."""

    def picture(name: str, section: str = "") -> None:
        if section:
            page.evaluate(f"document.getElementById('{section}').scrollIntoView()")
        page.wait_for_timeout(1000)
        page.screenshot(path=folder / f"page_{name}.png")

    enter(page, rig.url)
    page.locator("#checks tr").first.wait_for(state="attached")
    picture("ready")
    drives(page, rig)
    picture("run_up")
    page.click("#stop")
    rig.until(state="idle", running=False)
    press(page, "Begin or resume", lambda: rig.asks("ready"))
    picture("campaign", "campaign")
    press(page, "Everybody is clear: go", lambda: rig.asks("verdict"))
    press(page, "Keep the trial", lambda: rig.asks("ready"), held=False)
    page.reload()
    page.get_by_role("button", name="/trial_0001").click()
    page.get_by_role("heading", name="Force sensors around the impact").wait_for()
    page.locator("#stages tr").first.wait_for()
    page.set_viewport_size({"width": 1280, "height": 1180})  # the whole chart
    picture("after", "runs")


def main(folder: Path) -> None:
    """Start the rig and a browser, and take the pictures."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        plan = Path(place) / "plan.yaml"
        plan.write_text(PLAN)
        rig = OperatedRig(Path(place), "sim_impact", SETTINGS, ("--plan", str(plan)))
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(60_000)
            take(rig, page, folder)
            browser.close()
        finally:
            rig.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
