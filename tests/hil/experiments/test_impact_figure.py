"""The figure and the table of a trial."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import image
from rich.console import Console

from hil.experiments import drawing
from hil.experiments.figure_form import FigureForm
from hil.experiments.impact import figure
from hil.experiments.impact.experiment import ImpactExperiment
from hil.experiments.impact.figure import plot_trial
from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording import TrialRecord
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)
BLOCK = block_dtype(LAYOUT)

IMPACT_S = 2.0
SUMMARY = {
    "angle_deg": 50.0,
    "impact_speed_mps": 0.0105,
    "contact_force_peak_N": 160.2,
    "peak_force_N": 80.2,
    "sum_of_peaks_N": 81.5,
    "effective_kinetic_energy_J": 0.0123,
    "effective_kinetic_energy_plant_J": 0.0131,
    "load_point_m": [-0.0052, 0.0121],
    "impact_time_s": IMPACT_S,
    "contact_duration_s": 0.15,
    "cut_latency_ms": 2.31,
    "accepted": False,
    "reasons": ["load point [31 mm] off the middle", "costs $5 or $6"],
    "aborted": None,
    "clock": "lockstep",
    "seed": 3,
    "loop": {
        "rate_hz": 1000,
        "ticks": 4000,
        "late": 1,
        "skipped": 2,
        "work_us": {"p50": 42.0, "p99": 61.0, "p99_9": 80.0, "max": 200.0},
        "wake_us": None,
        "plant_us": 100.0,
    },
}


def trial(meta=None):
    """Ticks at 1 kHz, and a half-sine of 80 N and 0.15 s at 30 kHz with droop, as `trial.h5` holds it."""
    t = np.arange(1.5, 4.0, 1 / 30_000)
    force = np.where((t > IMPACT_S) & (t < IMPACT_S + 0.15), 80 * np.sin(np.pi * (t - IMPACT_S) / 0.15), 0.0)
    area = np.cumsum(force * np.exp((t - IMPACT_S) / 0.5)) / 30_000
    drooped = force - area * np.exp(-(t - IMPACT_S) / 0.5) / 0.5
    sensitivity = np.array([0.0110, 0.0112, 0.0113])
    tick = np.zeros(4000, TICK)
    tick["tick"], tick["t_ns"] = np.arange(4000), np.arange(4000) * 1_000_000
    tick["impact"] = tick["t_ns"] >= IMPACT_S * 1e9
    tick["force_sum_N"] = np.interp(tick["t_ns"] * 1e-9, t, force)
    tick["wheel_speed_radps"], tick["speed_mps"] = 0.15, 0.0105
    return TrialRecord(
        tick=tick,
        events=np.zeros(0, EVENT),
        timing=np.zeros(4000, TIMING),
        blocks=np.zeros(0, BLOCK),
        raw=drooped[:, None] * [0.5, 0.3, 0.2] * sensitivity,
        daq_t_ns=np.round(t * 1e9).astype(np.int64),
        meta={"sensitivity_VpN": "0.0110, 0.0112, 0.0113"} if meta is None else meta,
    )


def empty():
    full = trial({})
    return TrialRecord(full.tick[:0], full.events, full.timing[:0], full.blocks, full.raw[:0], full.daq_t_ns[:0], {})


def no_impact():
    full = trial({})
    full.tick["impact"] = 0
    return full


@pytest.mark.slow
@pytest.mark.parametrize(
    ("record", "summary"),
    [
        (trial(), SUMMARY),
        (trial({}), SUMMARY),
        (trial({"sensitivity_VpN": "none"}), SUMMARY),
        (trial(), {}),
        (trial(), SUMMARY | {"accepted": True, "reasons": ["x" * 500], "cut_latency_ms": 150.0}),
        (no_impact(), SUMMARY | {"impact_time_s": None, "cut_latency_ms": None}),
        (empty(), SUMMARY),
        (empty(), {}),
    ],
    ids=["whole", "no sensitivity", "bad sensitivity", "no summary", "slow cut", "no impact", "no data", "nothing"],
)
def test_every_record_gives_a_figure_of_1400_by_1000(tmp_path, record, summary):
    ImpactExperiment.draw(record, summary, tmp_path / "trial.png", FigureForm())
    pixels = image.imread(tmp_path / "trial.png")
    assert pixels.shape[:2] == (1000, 1400)
    assert pixels[..., :3].min() < 0.5  # the figure is not empty


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Draws a trial, and gives its figure instead of writing it."""
    folder = tmp_path_factory.mktemp("figure") / "run 7"
    folder.mkdir()

    def draw(record, summary, form=FigureForm()):  # noqa: B008
        return plot_trial(record, summary, folder.name, form)

    return draw


@pytest.fixture(scope="module")
def whole(drawn):
    """The figure of a whole trial."""
    return drawn(trial(META), ONSET)


META = {
    "sensitivity_VpN": "0.0110, 0.0112, 0.0113", "wall_time": "2026-11-25T09:18:31Z", "seed": 3,
    "config": "name: sim_impact\nrig: simulated\ndetector:\n  threshold_N: 10.0\n",
}  # fmt: skip
ONSET = SUMMARY | {"onset_s": IMPACT_S - 0.0029, "peak_force_N": 80.2}
PANELS = {
    "Sensors at the impact, and their droop after it": "force [N]",
    "Contact, threshold and cut": "force [N]",
    "Gap along the ground, by the twin's speed back from the contact": "gap [mm]",
    "Effective kinetic energy $T_c$": "$T_c$ [J]",
    "Wheel normal forces, predicted by the twin": "force [N]",
    "Speeds of wheels and rover": "wheel speed [rad/s]",
}


def panel(one, title):
    (found,) = [axes for axes in one.axes if axes.get_title(loc="left").startswith(title)]
    return found


def line_of(axes, label):
    (found,) = [line for line in axes.lines if str(line.get_label()).startswith(label)]
    return found


def test_each_panel_shows_another_thing_with_its_unit(whole):
    titled = {axes.get_title(loc="left"): axes.get_ylabel() for axes in whole.axes if axes.get_title(loc="left")}
    assert titled == PANELS


@pytest.mark.slow
def test_the_figure_says_its_peak_run_seed_date_and_that_it_is_simulated(drawn, whole):
    words = [text.get_text() for text in whole.texts]
    assert "peak 80.2 N" in words[0]
    assert words[1].split("   ") == [
        "run run 7", "seed 3", "2026-11-25 09:18:31 UTC", "config sim_impact", "SIMULATED rig",
    ]  # fmt: skip
    real = trial(META | {"config": "name: lab\nrig: real\n"})
    assert drawn(real, ONSET).texts[1].get_text().endswith("config lab   real rig")
    assert "date unknown" in drawn(trial(), {}).texts[1].get_text()


def test_contact_threshold_and_cut_are_three_lines_with_their_names(whole):
    axes = panel(whole, "Contact")
    upright = sorted(line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1)
    assert upright == pytest.approx([-2.9, 0.0, 2.31])
    words = {text.get_text() for text in axes.texts}
    assert words == {"contact begins\n2.9 ms earlier", "over threshold\nat 2.0000 s", "drives cut\n2.31 ms later"}
    level = line_of(axes, "threshold")
    assert level.get_label() == "threshold, 10 N"
    assert set(level.get_ydata()) == {10.0}


@pytest.mark.slow
@pytest.mark.parametrize("cut_ms", [0.1, 2.31, 229.0, 5000.0])
def test_words_at_the_lines_stay_inside_their_panel(drawn, cut_ms):
    axes = panel(drawn(trial(META), ONSET | {"cut_latency_ms": cut_ms}), "Contact")
    axes.figure.draw_without_rendering()
    extent = axes.get_window_extent()
    for text in axes.texts:
        box = text.get_window_extent()
        assert extent.x0 <= box.x0, text.get_text()
        assert box.x1 <= extent.x1, text.get_text()


def test_the_peak_is_marked_where_it_was_with_its_number(whole):
    axes = panel(whole, "Sensors")
    mark = line_of(axes, "peak")
    assert mark.get_ydata()[0] == 80.2
    assert mark.get_xdata()[0] == pytest.approx(0.075, abs=2e-3)  # the middle of the half-sine
    assert [text.get_text() for text in axes.texts] == ["80.2 N"]
    assert axes.get_ylim()[1] > 80.2


def test_a_series_has_one_style_in_every_panel(whole):
    first, edge = panel(whole, "Sensors"), panel(whole, "Contact")
    for name in ("top", "lower left", "lower right", "sum", "sum, corrected"):
        lines = [next(line for line in axes.lines if line.get_label() == name) for axes in (first, edge)]
        styles = [(i.get_color(), i.get_linestyle(), i.get_linewidth(), i.get_marker(), i.get_alpha()) for i in lines]
        assert styles[0] == styles[1], name


def test_without_a_recorded_gap_it_is_the_way_that_the_twin_drives_until_the_contact(whole):
    line = line_of(panel(whole, "Gap"), "twin")
    t, gap = line.get_xdata(), line.get_ydata()
    assert gap == pytest.approx(-10.5 * (t + 0.0029), abs=1e-6)  # 10.5 mm/s all the time


def test_a_recorded_gap_is_shown_as_it_is(drawn):
    full = trial(META)
    tick = np.zeros(len(full.tick), np.dtype([*full.tick.dtype.descr, ("gap_m", "f8")]))
    for name in full.tick.dtype.names:
        tick[name] = full.tick[name]
    tick["gap_m"] = 0.25
    axes = panel(drawn(replace(full, tick=tick), ONSET), "Gap")
    assert axes.get_title(loc="left") == "Gap to the obstacle"
    assert set(line_of(axes, "twin").get_ydata()) == {250.0}
    tick["gap_m"] = np.nan  # of a rig without an obstacle, and of a twin that knows none
    assert "by the twin's speed" in panel(drawn(replace(full, tick=tick), ONSET), "Gap").get_title(loc="left")


@pytest.mark.slow
def test_both_axes_of_the_speeds_hold_all_of_their_lines(drawn):
    full = trial(META)
    full.tick["speed_mps"][:100], full.tick["wheel_speed_radps"][3000:] = 0.2, -1.5
    one = drawn(full, ONSET)
    for axes in (panel(one, "Speeds"), one.axes[-1]):
        low, high = axes.get_ylim()
        for line in axes.lines:
            if len(set(line.get_xdata())) > 1:
                assert low <= min(line.get_ydata())
                assert max(line.get_ydata()) <= high


@pytest.mark.slow
@pytest.mark.parametrize("width", ["screen", "double", "single"])
def test_no_words_of_the_frame_lie_over_others(drawn, width):
    long = ONSET | {"reasons": ["first hit outside the sensing triangle, +22 mm across, +27 mm up"] * 4}
    one = drawn(trial(META), long, FigureForm(width))
    one.draw_without_rendering()
    boxes = [text.get_window_extent() for text in one.texts]
    boxes += [axes.get_tightbbox() for axes in one.axes]
    for number, box in enumerate(boxes[: len(one.texts)]):
        for other in boxes[number + 1 :]:
            assert not (box.y0 < other.y1 - 2 and other.y0 < box.y1 - 2 and box.x0 < other.x1 and other.x0 < box.x1)


def test_readings_are_divided_by_their_sensitivities():
    values, quantity = figure._newtons(trial())
    assert quantity == "force [N]"
    assert values.sum(axis=1).max() == pytest.approx(73.0, abs=2.0)  # 80 N minus its droop
    assert values.sum(axis=1).min() < -10.0


@pytest.mark.parametrize("n", [0, 1, 699, 1400, 1401, 2101, 75_001])
def test_decimation_keeps_extremes_order_and_ends(n):
    t = np.arange(n, dtype=float)
    y = np.random.default_rng(n).normal(size=n)
    thin_t, thin_y = drawing.decimated(t, y)
    assert len(thin_t) <= max(2 * drawing._BINS, 0)
    np.testing.assert_array_equal(thin_y, y[thin_t.astype(int)])
    assert (np.diff(thin_t) >= 0).all()
    if n:
        assert (thin_y.min(), thin_y.max()) == (y.min(), y.max())
        assert thin_t[0] <= n / drawing._BINS
        assert thin_t[-1] >= n - 1 - n / drawing._BINS


def test_no_line_of_the_figure_is_drawn_at_full_rate(tmp_path, monkeypatch):
    sizes = []
    plot = figure.Axes.plot

    def counting(self, *args, **more):
        sizes.append(np.size(args[0]))
        return plot(self, *args, **more)

    monkeypatch.setattr(figure.Axes, "plot", counting)
    plot_trial(trial(), SUMMARY, tmp_path.name)
    assert len(sizes) > 30
    assert max(sizes) <= 2 * drawing._BINS


def shown(summary):
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(ImpactExperiment.table(summary))
    return console.export_text()


def test_table_shows_the_verdict_first_and_each_value_with_its_unit():
    text = shown(SUMMARY)
    wanted = [
        "accepted", "no", "- load point [31 mm] off the middle", "10.5 mm/s", "80.2 N", "81.5 N",
        "160.2 N (both wheels)", "0.0123 J", "0.0131 J",
        "-5.2, 12.1 mm (across, up)", "150.0 ms", "2.31 ms", "1000 Hz", "4000, 1, 2",
        "42.0, 61.0, 80.0, 200.0 us", "lockstep, 3",
    ]  # fmt: skip
    places = [text.find(item) for item in wanted]
    assert -1 not in places, [item for item in wanted if item not in text]
    assert places == sorted(places)


def test_table_shows_a_dash_for_null():
    text = shown(SUMMARY | {"contact_force_peak_N": None, "load_point_m": None})
    assert any("plant" in line and " - " in line for line in text.splitlines())
    assert "None" not in text
    assert "None" not in shown({})


def test_abort_is_shown():
    assert "operator released" in shown(SUMMARY | {"aborted": "operator released"})


@pytest.mark.slow
def test_import_brings_no_pyplot():
    code = "import sys, hil.experiments.impact.figure; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_cut_that_comes_late_over_its_link_is_drawn_when_the_drives_obeyed(drawn):
    figure = drawn(trial(), ONSET | {"cut_effective_ms": 202.31})
    axes = panel(figure, "Contact")
    assert "drives cut\n202.31 ms later" in {text.get_text() for text in axes.texts}
    assert axes.get_xlim()[1] > 202.31
