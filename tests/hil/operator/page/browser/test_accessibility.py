"""The rules of axe-core, for all that the page can show at the same time, in light and dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from .scripted_rig import WHEELS

pytestmark = pytest.mark.slow
RUN = {
    "name": "run_1", "state": "done", "experiment": "impact", "angle_deg": 60.0, "accepted": False, "reasons": ["veer"],
    "numbers": {"peak_force_N": 105.0}, "files": ["summary.json", "report.html"], "time": "2026-01-01T00:00:00+00:00",
}  # fmt: skip
FAULT = {"number": 18, "name": "stop by operator", "detail": "E-stop"}
CHANNELS = [{"name": "top", "V": [0.0, 1.0]}]
IMPACT = {"t_ms": [-1.0, 1.0], "channels": CHANNELS, "detected_ms": 0.5, "cut_ms": 0.8, "every": 1}


def broken_rules(page):
    """What axe found in light and in dark: rule, place and reason of each."""
    broken = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        broken += [
            f"{scheme}: {rule['id']} ({rule['help']}): {node['target']} {node['html'][:200]}"
            for rule in Axe().run(page).response["violations"]
            for node in rule["nodes"]
        ]
    return broken


def test_no_section_of_the_page_breaks_a_rule(server, shown):
    server.answers["runs"], server.answers["runs/run_1/record/impact"] = [RUN], IMPACT
    page = shown()
    server.show(
        lease={"holder": "page-1", "yours": True, "asked_by": "Ben"}, safe=True, faults=[FAULT], warnings=[FAULT],
        question={"key": "verdict", "text": "The trial is accepted", "choices": ["verdict keep", "verdict repeat"]},
    )  # fmt: skip
    server.send({"type": "log", "t": 1e9, "who": "Ada", "text": "arm"})
    server.show_ticks(speed_mps=[0.1, 0.1], **{f"normal_force_N__{wheel}": [150.0, 151.0] for wheel in WHEELS})
    page.get_by_role("button", name="run_1").click()
    page.get_by_role("heading", name="Force sensors around the impact").wait_for()
    assert broken_rules(page) == []
    server.show(status_age_s=5.0)
    page.wait_for_selector("body.stale")
    assert broken_rules(page) == []


def test_the_login_form_breaks_no_rule(served, opened):
    page = opened(f"http://{served.address}/#token={'0' * 64}")
    page.get_by_role("alert").filter(has_text="token").wait_for()
    assert broken_rules(page) == []
