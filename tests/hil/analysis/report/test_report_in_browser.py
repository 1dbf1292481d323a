"""The report in a browser, in the sandbox in which the operator's page serves it: table, traces, phone, dark, print."""

from __future__ import annotations

import pytest

from hil.analysis.report.make import report_campaign
from hil.operator.page.app import _REPORT
from tests.chromium import chromium  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

ADDRESS = "http://report.test/report.html"


@pytest.fixture(scope="module")
def text(campaign_folder, tmp_path_factory):
    return report_campaign(campaign_folder(tmp_path_factory.mktemp("browser"))).page.read_text(encoding="utf-8")


@pytest.fixture
def opened(chromium, text):  # noqa: F811
    """Opens the report; its errors and all that it asks for are collected."""
    contexts = []

    def open_report(**settings):
        contexts.append(chromium.new_context(**settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)
        page.problems, page.asked = [], []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda line: line.type == "error" and page.problems.append(line.text))
        page.on("request", lambda request: page.asked.append(request.url))
        answer = {
            "body": text,
            "content_type": "text/html; charset=utf-8",
            "headers": {"Content-Security-Policy": _REPORT},
        }
        page.route(ADDRESS, lambda route: route.fulfill(**answer))
        page.goto(ADDRESS)
        return page

    yield open_report
    for context in contexts:
        context.close()


def column(page, number):
    return page.locator(f"#table tbody tr:visible > :nth-child({number})").all_inner_texts()


def test_it_runs_in_its_sandbox_and_asks_for_nothing(opened):
    page = opened()
    assert page.locator("#plot canvas").count() == 1
    assert page.problems == []
    assert [url for url in page.asked if not url.startswith("data:")] == [ADDRESS]


def test_a_heading_sorts_by_number_and_back(opened):
    page = opened()
    heading = page.locator("#table thead th").nth(4)
    heading.get_by_role("button").click()
    forces = [float(force) for force in column(page, 5)]
    assert len(forces) == 4
    assert forces == sorted(forces)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.get_by_role("button").press("Enter")
    assert [float(force) for force in column(page, 5)] == sorted(forces, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("clicks", [1, 2])
def test_what_has_no_number_is_last_whichever_way_it_is_sorted(opened, clicks):
    page = opened()
    for _ in range(clicks):
        page.locator("#table thead th").nth(5).get_by_role("button").click()
    assert column(page, 6)[-1] == "–"  # the dropped trial


def test_trials_are_filtered_by_status_angle_and_words(opened):
    page = opened()
    status, angle, _ = page.locator(".filters select").all()
    status.select_option("dropped")
    assert column(page, 1) == ["4"]
    assert page.locator("#shown").inner_text() == "1 of 4 trials"
    status.select_option("all")
    angle.select_option("50")
    assert column(page, 1) == ["1", "2"]
    angle.select_option("all")
    page.locator("#words").fill("contact_s")
    assert column(page, 1) == ["4"]


def test_a_row_opens_its_trace(opened):
    page = opened()
    page.locator("#trial-3 td").nth(3).click()
    assert page.locator("#trial").input_value() == "3"
    assert page.locator("#said").inner_text() == "Trial 3: kept"
    assert page.evaluate("Math.abs(document.querySelector('#traces').getBoundingClientRect().top) < innerHeight")


def test_the_link_of_a_trial_in_the_answers_opens_its_trace_by_the_keyboard(opened):
    page = opened()
    page.locator("#answers a.to-trace").first.press("Enter")
    assert page.locator("#trial").input_value() == "4"  # the one that was dropped, and why
    assert page.locator("#said").inner_text().startswith("Trial 4: dropped: contact of")


def test_a_phone_scrolls_no_page_sideways(opened):
    page = opened(viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.querySelector('#plot canvas').getBoundingClientRect().right") <= 390


def test_dark_mode_is_dark_and_its_figures_stay_on_white(opened):
    page = opened(color_scheme="dark")
    colour = "(one) => getComputedStyle(document.querySelector(one)).backgroundColor"
    assert page.evaluate(colour, "body") == "rgb(21, 24, 27)"
    assert page.evaluate(colour, "figure img") == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(colour, "body") == "rgb(255, 255, 255)"
    assert page.problems == []


def test_a_print_holds_every_trial_whatever_is_filtered_and_nothing_to_click(opened):
    page = opened(color_scheme="dark")
    page.locator(".filters select").first.select_option("dropped")
    page.emulate_media(media="print")
    assert column(page, 1) == ["1", "2", "3", "4"]
    assert not any(one.is_visible() for one in page.locator("button, select, input").all())
    assert page.locator("#table thead th").nth(4).inner_text().startswith("sum of the channels' peaks")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(17, 17, 17)"
