"""Runs that are over, in a browser: laid over the traces, their timing, their exports, two of them compared."""

from __future__ import annotations

import pytest

from .scripted_server import TALL, cells, until, wait_on

pytestmark = pytest.mark.slow


def run_of(name, **numbers):
    """A run as the server lists it."""
    return {
        "name": name, "state": "done", "experiment": "impact", "angle_deg": 60.0, "accepted": True, "reasons": [],
        "numbers": numbers, "files": ["summary.json"], "time": "2026-11-22T10:00:00+00:00",
    }  # fmt: skip


@pytest.fixture
def runs_page(server, shown):
    """The page of a rig with two runs; a tick every 0.1 s is at 8.0 to 10.0 s of the run that is on."""
    server.answers["runs"] = [run_of("run_2", peak_force_N=90.0, seed=2), run_of("run_1", peak_force_N=87.0)]
    server.answers["runs/run_1/record/traces"] = {
        "t_s": [7.0, 8.0, 9.0], "columns": {"speed_mps": [1.0, 2.0, 3.0]}, "impact_s": 8.5,
    }  # fmt: skip
    server.answers["runs/run_1/record/timing"] = {
        "loop": {"ticks": 1000, "rate_hz": 1000, "late": 2, "skipped": 0, "wake_us": None, "plant_us": None,
                 "work_us": {"p50": 100.0, "p99": 300.0, "p99_9": 500.0, "max": 900.0}, "phases_us": {}},
        "histogram": {"from_us": [100.0, 133.3, 177.8], "ticks": [900, 0, 100]},
        "wake_histogram": {"from_us": [10.0, 13.3], "ticks": [990, 10]},
        "cut": [{"name": "cut_latency", "ms": 4.7}, {"name": "cut_wire", "ms": 2.0}],
    }  # fmt: skip
    server.answers["runs/run_1/record/impact"] = {
        "t_ms": [-1.0, 0.0, 1.0],
        "channels": [],
        "detected_ms": 0.0,
        "cut_ms": 1.0,
        "every": 1,
    }
    server.add_series("ns", "t_ns")
    server.add_series("1", "impact")
    page = shown()
    page.locator("#run-list tr").nth(1).wait_for()
    return page


def live_ticks(server):
    """Send two seconds of a run that hits at 9.0 s."""
    t_s = [8.0 + 0.1 * i for i in range(21)]
    server.show_ticks(t_ns=[t * 1e9 for t in t_s], impact=[int(t > 8.95) for t in t_s], speed_mps=[0.5] * 21)


def statistics(page):
    """Texts of the statistics, by series."""
    return {row[0]: row[1:] for row in cells(page, "#statistics")}


def put_cursor(page, cursor, place):
    page.evaluate(f"one = document.getElementById('{cursor}'); one.value = {place}")


@pytest.mark.parametrize(("align", "place"), [("start", -2.0), ("impact", -1.5)])
def test_an_earlier_run_is_laid_over_the_traces_aligned_at_its_start_or_its_impact(server, runs_page, align, place):
    live_ticks(server)
    runs_page.select_option("#earlier-run", "run_1")
    runs_page.select_option("#align", align)
    put_cursor(runs_page, "mark-a", place)  # there its speed is 2: 8 s is 0.5 s before its impact
    runs_page.click("#lay-over")
    until(lambda: statistics(runs_page).get("speed, run_1", [None] * 2)[1] == "2")
    until(lambda: statistics(runs_page)["speed"][1] == "0.5")
    runs_page.get_by_label("Remove run_1").click()
    until(lambda: "speed, run_1" not in statistics(runs_page))
    assert runs_page.problems == []


def test_what_lies_beyond_a_limit_is_shaded(server, shown):
    next(one for one in server.answers["config"]["series"] if one["name"] == "speed_mps")["band"] = [None, 0.75]
    page = shown(viewport=TALL)
    canvas = "document.querySelector('#plot canvas').getContext('2d').getImageData(100, 30, 20, 20).data"
    shaded = f"[...{canvas}].filter((one, i) => i % 4 === 3 && one > 0).length"  # of 400; lines of the grid are thin
    server.show_ticks(speed_mps=[0.1, 0.2], force_sum_N=[0.5] * 2)  # an empty chart goes to 1, beyond the limit
    assert page.evaluate(shaded) < 100
    server.show_ticks(speed_mps=[0.5, 0.6, 1.0], force_sum_N=[0.5] * 3)
    assert page.evaluate(shaded) == 400
    assert page.problems == []


def test_a_run_that_is_opened_shows_how_the_loop_kept_time_and_its_cut_part_by_part(runs_page):
    runs_page.get_by_role("button", name="run_1", exact=True).click()
    runs_page.get_by_text("1000 ticks at 1000 Hz, 2 late, 0 skipped.").wait_for()
    drawn = [runs_page.get_by_label(f"Ticks by the time of their {what}") for what in ("work", "wake-up")]
    assert [one.locator("rect").count() for one in drawn] == [3, 2]
    assert cells(runs_page, "#stages") == [["work", "100", "300", "500", "900"]]
    assert cells(runs_page, "#cut-parts") == [["in all", "4.70 ms"], ["stop to the last drive", "2.00 ms"]]
    assert runs_page.is_hidden("#no-cut")
    assert runs_page.get_by_role("link", name="Export mat").get_attribute("href") == "/api/runs/run_1/record/mat"
    runs_page.locator("#one-run .u-over").wait_for()


def test_two_runs_are_compared_number_by_number(runs_page):
    runs_page.get_by_role("button", name="run_1", exact=True).click()
    runs_page.get_by_label("Compare with").select_option("run_2")
    runs_page.locator("[aria-label=Comparison] tbody tr").wait_for()
    assert cells(runs_page, "[aria-label=Comparison] tbody") == [["peak_force_N", "87", "90", "3"]]


def test_a_run_that_is_open_shows_its_report_once_that_is_written(server, runs_page):
    runs_page.get_by_role("button", name="run_1", exact=True).click()
    runs_page.get_by_role("link", name="Summary").wait_for()
    assert runs_page.get_by_role("link", name="Report").count() == 0
    server.answers["runs"][1]["files"].append("report.html")
    server.show(runs=1)
    runs_page.get_by_role("link", name="Report").wait_for()


def test_a_campaign_that_is_opened_is_not_asked_for_a_record(server, shown):
    server.answers["runs"] = [{**run_of("campaign_1"), "state": "campaign"}]
    page = shown()
    page.get_by_role("button", name="campaign_1", exact=True).click()
    page.get_by_text("campaign_1 has no timing").wait_for()
    server.settle()
    assert not [address for address in page.asked if "/record/" in address]
    assert page.problems == []


def test_runs_are_filtered_by_any_of_their_words(runs_page):
    runs_page.fill("#find-run", "run_2")
    until(lambda: runs_page.locator("#run-list tr").count() == 1)
    runs_page.fill("#find-run", "no such run")
    until(lambda: runs_page.locator("#run-list tr").count() == 0)


def test_a_note_and_tags_are_written_on_a_run_and_found_by_the_filter(server, runs_page):
    server.answers["runs"][1]["tags"] = ["old", "dry"]  # a terminal added one after the page was read
    runs_page.get_by_role("button", name="run_1", exact=True).click()
    runs_page.get_by_label("Note", exact=True).fill("wheel slipped")
    runs_page.get_by_label("Tags, with commas between them").fill("good, soft sand")
    runs_page.get_by_role("button", name="Save the note").click()
    runs_page.get_by_text("Saved.").wait_for()
    assert server.posted == [{"note": "wheel slipped", "add": ["good", "soft sand"], "remove": []}]
    assert runs_page.get_by_label("Tags, with commas between them").input_value() == "dry, good, old, soft sand"
    runs_page.fill("#find-run", "soft sand")
    until(lambda: runs_page.locator("#run-list tr").count() == 1)
    assert "wheel slipped" in runs_page.locator("#run-list tr").text_content()
    assert runs_page.problems == []


def test_the_last_trials_of_a_campaign_are_small_multiples_to_the_same_scale(server, shown):
    forces = {"campaign_1/trial_0002": [0.0, 80.0, 40.0], "campaign_1/trial_0001": [0.0, 40.0, 20.0]}
    server.answers["runs"] = [*map(run_of, forces), run_of("run_1")]
    for name, force_N in forces.items():
        traces = {"t_s": [4.0, 4.1, 4.2], "columns": {"force_sum_N": force_N}, "impact_s": 4.0}
        server.answers[f"runs/{name}/record/traces"] = traces
    page = shown()
    captions = page.locator("#last-trials figcaption")
    captions.nth(1).wait_for()
    assert captions.all_text_contents() == ["60 deg, peak 80 N, accepted", "60 deg, peak 40 N, accepted"]
    tops = [
        line.get_attribute("points").split()[1].split(",")[1] for line in page.locator("#last-trials polyline").all()
    ]
    assert tops == ["0.0", "30.0"]


def test_a_run_is_listed_with_the_numbers_that_its_verdict_had_and_their_names(server, shown):
    server.answers["config"]["main_numbers"] = {
        "impact": [["peak_force_N", "peak force", "N", 1], ["no", "no", "1", 1]]
    }
    server.answers["runs"] = [
        run_of("run_2", contact_force_peak_N=151.7, peak_force_N=76.8),
        run_of("run_1", speed_mps=0.5) | {"experiment": "drive"},
    ]
    page = shown()
    page.locator("#run-list tr").nth(1).wait_for()
    shown = [row.locator("td").last.text_content() for row in page.locator("#run-list tr").all()]
    assert shown == ["peak force 76.8 N", "speed_mps 0.5"]


def test_a_trial_that_its_operator_rejected_is_listed_with_the_word_next_to_what_the_rules_say(server, shown):
    word = {"name": "Ada", "verdict": "repeat", "word": "somebody stepped on the plate"}
    server.answers["runs"] = [
        run_of("run_2", peak_force_N=76.8) | {"operator": word},
        run_of("run_1", peak_force_N=80.0),
    ]
    page = shown()
    page.locator("#run-list tr").nth(1).wait_for()
    rows = [row.locator("td").all_text_contents() for row in page.locator("#run-list tr").all()]
    heads = page.locator("#run-list").locator("xpath=..").locator("th").all_text_contents()
    of = {name: [row[heads.index(name)] for row in rows] for name in ("Rules", "Operator")}
    assert of["Rules"] == ["accepted", "accepted"]
    assert of["Operator"] == ["repeat: somebody stepped on the plate", "-"]


def test_a_trial_whose_record_is_being_read_is_not_said_to_have_had_no_impact(server, shown):
    what = "runs/campaign_1/trial_0001/record/traces"
    server.answers[what] = {"t_s": [4.0, 4.1], "columns": {"force_sum_N": [0.0, 80.0]}, "impact_s": 4.0}
    come = server.answer_late(what)
    server.answers["runs"] = [run_of("campaign_1/trial_0001")]
    page = shown()
    until(lambda: what not in server.late)
    server.answers["runs"] = [run_of("run_2"), run_of("campaign_1/trial_0001")]
    server.show(runs=1)
    page.get_by_role("button", name="run_2", exact=True).wait_for()
    assert page.locator("#last-trials figcaption").count() == 0
    come.set()
    page.locator("#last-trials figcaption").wait_for()
    assert page.text_content("#last-trials") == "60 deg, peak 80 N, accepted"


def test_an_answer_that_comes_late_is_not_drawn_over_what_was_opened_since(server, runs_page):
    page, come = runs_page, []
    page.on("requestfinished", lambda request: come.append(request.url))

    def comes_twice(what, event):
        event.set()
        until(lambda: page.evaluate("1") and sum(url.endswith(f"run_1/record/{what}") for url in come) == 2)
        wait_on(page, 200)  # both are drawn by then, if they are

    impact, timing = (server.answer_late(f"runs/run_1/record/{what}") for what in ("impact", "timing"))
    page.get_by_role("button", name="run_1", exact=True).click()
    until(lambda: not server.late)
    page.get_by_role("button", name="run_1", exact=True).click()
    comes_twice("impact", impact)
    assert page.locator("#one-run .u-over").count() == 1
    page.get_by_role("button", name="run_2", exact=True).click()
    page.get_by_text("run_2 has no timing").wait_for()
    comes_twice("timing", timing)
    assert page.text_content("#loop-run") == "run_2 has no timing"
