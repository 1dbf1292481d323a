"""How the page draws: in pieces between which it handles what its operator does, and only while it is in view."""

from __future__ import annotations

import pytest

from .scripted_server import TALL, until, wait_on

pytestmark = pytest.mark.slow
# A view that never ends by itself within the test: it is drawn until a press was handled, or it has had all its pieces.
PIECES = 20_000
ENDLESS_VIEW = """async (pieces) => {
    const { drawEvery } = await import("/static/page/draw.js");
    let pressed = false;
    addEventListener("pointerdown", () => { pressed = true; });
    window.drawn = 0;
    drawEvery(1, function* () {
        while (!pressed && window.drawn < pieces) {
            const began = performance.now();
            while (performance.now() - began < 5);
            window.drawn += 1;
            yield;
        }
        window.over = true;
    });
}"""
# By column of pixels: how many have the colour of the first series.
COLUMNS = """() => {
    const canvas = document.querySelector("#plot canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const counts = new Array(canvas.width).fill(0);
    for (let i = 0; i < data.length; i += 4) {
        if (data[i] < 40 && Math.abs(data[i + 1] - 114) < 40 && Math.abs(data[i + 2] - 178) < 40 && data[i + 3] > 100) {
            counts[(i / 4) % canvas.width] += 1;
        }
    }
    return counts;
}"""


def test_a_press_is_handled_between_two_pieces_of_a_drawing(page, server):
    page.evaluate(ENDLESS_VIEW, PIECES)
    until(lambda: page.evaluate("window.drawn") > 0)
    page.click("#stop")
    until(lambda: page.evaluate("window.over"))
    assert page.evaluate("window.drawn") < PIECES
    until(lambda: [command["reason"] for command in server.commands()] == ["button"])


def test_a_view_that_fails_leaves_the_others_drawn(page, server):
    page.evaluate(
        "async () => (await import('/static/page/draw.js')).drawEvery(1, function* () { throw Error('no view'); })"
    )
    server.show_ticks(speed_mps=[0.25])
    assert page.inner_text("#speed") == "0.250"
    until(lambda: page.problems)
    assert set(page.problems) == {"no view"}


def test_nothing_is_drawn_while_the_page_is_hidden_and_the_newest_once_it_is_not(page, server):
    server.show_ticks(speed_mps=[0.25])
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    server.show_ticks(speed_mps=[0.5])
    wait_on(page, 400)  # four rounds
    assert page.inner_text("#speed") == "0.250"
    page.evaluate("delete document.hidden")
    until(lambda: page.inner_text("#speed") == "0.500")


def test_a_page_that_comes_back_into_view_is_drawn_whole_at_once(page):
    drawn = page.evaluate("""async () => {
        const { drawEvery } = await import("/static/page/draw.js");
        const drawn = new Promise((done) => drawEvery(1e9, function* () { done(true); })); // else after three years
        document.dispatchEvent(new Event("visibilitychange"));
        return Promise.race([drawn, new Promise((done) => setTimeout(() => done(false), 60_000))]);
    }""")
    assert drawn


def test_the_traces_draw_a_line_with_its_gaps(page, server):
    page.set_viewport_size(TALL)
    server.show_ticks(speed_mps=[*[1.0] * 100, *[None] * 100, *[0.5] * 100], force_sum_N=[None] * 300)
    columns = []
    # The browser may say later that the chart has come into view.
    until(lambda: columns.append(page.evaluate(COLUMNS)) or sum(map(bool, columns[-1])) > 100)
    drawn = [count > 0 for count in columns[-1]]
    first, last = drawn.index(True), len(drawn) - drawn[::-1].index(True)
    third = (last - first) // 3
    assert all(drawn[first : first + third - 3])
    assert not any(drawn[first + third + 3 : last - third - 3])
    assert all(drawn[last - third + 3 : last])


def test_traces_that_are_frozen_stay_while_the_telemetry_goes_on(page, server):
    page.set_viewport_size(TALL)
    server.show_ticks(speed_mps=[0.25], force_sum_N=[1.0])
    newest = page.locator("#statistics tr").first.locator("td").last
    until(lambda: newest.inner_text() == "0.25")
    page.click("#freeze")
    server.show_ticks(speed_mps=[0.5], force_sum_N=[2.0])
    assert page.inner_text("#speed") == "0.500"
    assert newest.inner_text() == "0.25"
    page.click("#freeze")
    until(lambda: newest.inner_text() == "0.5")


# Collects the words that are drawn on a chart.
WORDS = """() => {
    window.words = [];
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (word, ...place) {
        words.push(word);
        draw.call(this, word, ...place);
    };
}"""


@pytest.mark.parametrize("first", ["status", "ticks"])
def test_a_run_shows_nothing_of_the_run_before_it_whichever_of_status_and_ticks_comes_first(page, server, first):
    page.set_viewport_size(TALL)
    server.add_series("ns", "t_ns")

    def ticks(start, t_ns, force_N):
        t = [start + 0.1 * i for i in range(len(t_ns))]
        names = ["t_ns", "force_sum_N", "speed_mps"]
        server.send({"type": "ticks", "names": names, "t": t, "values": [t_ns, force_N, [0.0] * len(t)]})

    server.show(state="armed", armed=True, running=True, run="runs/run_1")
    ticks(1000.0, [0, 1e8, 2e8], [0.0, 89.9, 3.0])
    server.show(state="run_up")
    largest = page.locator("#statistics tr").filter(has_text="force").first.locator("td").last
    until(lambda: largest.inner_text() == "89.9")
    page.evaluate(WORDS)
    steps = [
        lambda: server.show(state="armed", armed=True, running=True, run="runs/run_2"),
        lambda: ticks(990.0, [0, 1e8], [1.0, 2.0]),  # virtual time of the first run went ahead of the computer's
    ]
    for step in steps if first == "status" else reversed(steps):
        step()
    until(lambda: largest.inner_text() == "2")
    page.evaluate("window.words.length = 0")
    ticks(990.2, [2e8], [2.0])
    assert "run up" not in page.evaluate("window.words")
    with page.expect_download() as saved:
        page.click("#csv")
    times = [float(row.split(",")[0]) for row in saved.value.path().read_text().splitlines()[1:]]
    assert times == sorted(times)
    assert len(times) == 3


# Words of the drawing that a point of a link, of the plate or of the wheel lies in.
TOUCHED = """async ([angle_deg, feet_m, sensor_height_m]) => {
    const { drawSetting } = await import("/static/page/setting.js");
    const frame = { plate_m: 0.5, feet_m, wheel_radius_m: 0.175, sensor_height_m };
    const svg = drawSetting({ number: 1, angle_deg, frame });
    document.getElementById("operate").prepend(svg);
    const points = [...svg.querySelectorAll("line.pipe, line.plate, circle.wheel")].flatMap((one) => (
        Array.from({ length: 201 }, (_, i) => one.getPointAtLength(i / 200 * one.getTotalLength()))));
    const touched = [...svg.querySelectorAll("text")].filter((text) => {
        const { x, y, width, height } = text.getBBox();
        const letters = height * 0.25; // above and below them the box is empty
        return x < 0 || x + width > svg.viewBox.baseVal.width || points.some((point) => (
            point.x > x && point.x < x + width && point.y > y + letters && point.y < y + height - letters));
    }).map((text) => text.textContent);
    svg.remove();
    return touched;
}"""


@pytest.mark.parametrize(
    ("angle_deg", "feet_m", "sensor_height_m"),
    [(40.0, 0.896, 0.041), (60.0, 0.673, 0.0875), (80.0, 0.438, 0.145), (90.0, 0.341, 0.175)],
)
def test_no_word_of_what_to_set_touches_a_part_of_the_drawing(still, angle_deg, feet_m, sensor_height_m):
    page, _ = still
    assert page.evaluate(TOUCHED, [angle_deg, feet_m, sensor_height_m]) == []


def drawn(page, server):
    """Ten seconds of a speed that grows by 0.1 m/s each second, in the traces, which are in view."""
    page.set_viewport_size(TALL)
    server.show_ticks(speed_mps=[0.01 * i for i in range(101)], force_sum_N=[5.0] * 101)
    until(lambda: page.locator("#statistics tr").first.inner_text().endswith("1"))


def test_a_reader_s_line_tells_the_values_where_the_pointer_is(page, server):
    drawn(page, server)
    box = page.locator("#plot .u-over").bounding_box()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 50)  # of 30 s: 3 s before the newest value
    wanted = ("speed 0.7", "sum of the forces 5", "-3.0")
    until(lambda: all(words in page.inner_text("#reader") for words in wanted))


def test_a_zoom_stays_over_what_it_shows_as_newer_values_come(page, server):
    drawn(page, server)
    box = page.locator("#plot .u-over").bounding_box()
    for at, act in ((0.8, page.mouse.down), (0.9, page.mouse.up)):  # 6 to 3 s before the newest value
        page.mouse.move(box["x"] + at * box["width"], box["y"] + 50)
        act()
    least = page.locator("#statistics tr").first.locator("td").nth(5)
    until(lambda: abs(float(least.inner_text()) - 0.4) < 0.02)
    server.send({"type": "ticks", "names": ["speed_mps"], "t": [1e9 + 15.0], "values": [[2.0]]})
    assert page.inner_text("#speed") == "2.000"
    assert abs(float(least.inner_text()) - 0.4) < 0.02
    page.click("#all-time")
    until(lambda: least.inner_text() == "0")


def test_a_question_chooses_the_series_that_answer_it(page, server):
    page.set_viewport_size(TALL)
    page.select_option("#question", label="How are the wheels loaded?")
    chosen = page.locator("#series label").filter(has=page.locator("input:checked"))
    until(lambda: chosen.count() == 6)
    until(lambda: chosen.first.inner_text().strip() == "normal force, front left")  # empty until it is laid out
    until(lambda: "normal_force_N/rear_right" in server.received[-1]["series"])


def test_words_of_marks_do_not_lie_over_one_another(still):
    page, _ = still
    rows = page.evaluate(
        "async () => (await import('/static/page/chart.js')).rowsOf([[0, 50], [10, 60], [55, 90], [20, 30]])"
    )
    assert rows == [0, 1, 0, 2]


def test_a_series_has_the_words_of_people(still):
    page, _ = still
    names = ["daq_age_ns", "normal_force_N/front_left", "slip/rear_left", "t_ns", "drives_stopped_ns"]
    words = page.evaluate("async (names) => names.map((await import('/static/page/labels.js')).labelOf)", names)
    assert words == [
        "DAQ age", "normal force, front left", "slip, rear left", "time of the run", "drives stopped",
    ]  # fmt: skip
