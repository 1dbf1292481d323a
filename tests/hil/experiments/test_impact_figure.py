"""The figure and the table of a trial."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import image
from rich.console import Console

from hil.experiments import drawing
from hil.experiments.impact import figure
from hil.experiments.impact.figure import draw_trial
from hil.experiments.impact.table import impact_table
from hil.messages.layout import SENSORS, Layout
from hil.messages.schema import EVENT, TIMING
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
    draw_trial(record, summary, tmp_path / "trial.png")
    pixels = image.imread(tmp_path / "trial.png")
    assert pixels.shape[:2] == (1000, 1400)
    assert pixels[..., :3].min() < 0.5  # the figure is not empty


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
    draw_trial(trial(), SUMMARY, tmp_path / "trial.png")
    assert len(sizes) > 30
    assert max(sizes) <= 2 * drawing._BINS


def shown(summary):
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(impact_table(summary))
    return console.export_text()


def test_table_shows_the_verdict_first_and_each_value_with_its_unit():
    text = shown(SUMMARY)
    wanted = [
        "accepted", "no", "- load point [31 mm] off the middle", "10.5 mm/s", "80.2 N", "81.5 N",
        "160.2 N (both wheels)", "0.0123 J", "0.0131 J",
        "-5.2, 12.1 mm (across, up)", "150.0 ms", "2.31 ms", "1000 Hz, 4000 ticks", "1, 2",
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
