"""Figures as PNG, PDF and SVG: what they are of stands in the file, and the same run gives the same bytes."""

from __future__ import annotations

import dataclasses
import re
import zlib

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from hil.experiments.drawing import facts_of, save_figure, wheel_style, wheels_in_order
from hil.experiments.figure_form import FORMATS, FigureForm
from hil.experiments.impact.experiment import ImpactExperiment
from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording import TrialRecord
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
FACTS = {
    "seed": "7",
    "config": "sim_impact",
    "config_sha256": "ab" * 32,
    "version": "0.1.0",
    "content_sha256": "cd" * 32,
}
SUMMARY = {
    "seed": 7,
    "config_sha256": "ab" * 32,
    "version": "0.1.0",
    "digests": {"content": "cd" * 32},
    "impact_time_s": 1.0,
    "cut_latency_ms": 1.5,
    "accepted": True,
    "angle_deg": 60.0,
}
# A PDF takes over a second, for the fonts that it carries.
KINDS = [pytest.param(kind, marks=pytest.mark.slow) if kind == "pdf" else kind for kind in FORMATS]


def record():
    tick = np.zeros(2000, tick_dtype(LAYOUT))
    tick["t_ns"] = np.arange(2000) * 1_000_000
    tick["normal_force_N"] = 200.0 + np.sin(tick["t_ns"] * 1e-8)[:, None]
    t_ns = np.arange(30_000, dtype=np.int64) * 66_666
    raw = np.random.default_rng(1).normal(size=(30_000, 3))
    meta = {"config": "name: sim_impact\nseed: 7\n", "sensitivity_VpN": "1,1,1", "layout": LAYOUT.to_json()}
    return TrialRecord(tick, np.zeros(0, EVENT), np.zeros(0, TIMING), np.zeros(0, block_dtype(LAYOUT)), raw, t_ns, meta)


def facts_in(path):
    """What the file says, by its own means."""
    if path.suffix == ".png":
        return {key: value for key, value in Image.open(path).text.items() if key in FACTS}
    text = path.read_bytes().decode("latin-1")
    if path.suffix == ".svg":
        return dict(item.split("=") for item in re.findall(r"<rdf:li>(.+?)</rdf:li>", text))
    keywords = re.search(r"/Keywords \((.*?)\)", text, re.DOTALL)[1]
    return dict(item.split("=") for item in keywords.split("; "))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_seed_config_version_and_digest_stand_in_the_file_and_bytes_repeat(tmp_path, kind):
    made = [tmp_path / f"{name}.{kind}" for name in ("one", "two")]
    for path in made:
        ImpactExperiment.draw(record(), SUMMARY, path, FigureForm("single"))
    assert facts_in(made[0]) == FACTS
    assert made[0].read_bytes() == made[1].read_bytes()
    assert b"Date" not in re.sub(rb"(?s)stream.*?endstream", b"", made[0].read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize(("width", "mm"), [("single", 85.0), ("double", 180.0)])
def test_a_figure_has_the_width_of_a_journals_column(tmp_path, width, mm):
    path = tmp_path / "trial.pdf"
    ImpactExperiment.draw(record(), SUMMARY, path, FigureForm(width))
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", path.read_bytes())
    assert float(box[1]) / 72.0 * 25.4 == pytest.approx(mm, abs=0.1)
    assert float(box[2]) / 72.0 * 25.4 < 240.0  # fits an A4 page


def test_a_record_that_says_nothing_gives_unknown():
    empty = dataclasses.replace(record(), meta={})
    assert set(facts_of(empty, {}).values()) == {"unknown"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_notice_is_written_across_the_figure_in_every_format(tmp_path, kind):
    plain, stamped = tmp_path / f"plain.{kind}", tmp_path / f"stamped.{kind}"
    ImpactExperiment.draw(record(), SUMMARY, plain, FigureForm())
    ImpactExperiment.draw(record(), SUMMARY, stamped, FigureForm(notice="it was changed"))

    def red(path):
        data = path.read_bytes()
        if kind == "png":
            pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
            return (abs(pixels - (0xCC, 0x33, 0x11)).sum(axis=2) < 10).sum()
        if kind == "pdf":
            parts = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
            data = b"".join(part if part[:1] != b"x" else zlib.decompressobj().decompress(part) for part in parts)
            return data.count(b"0.8 0.2 0.0666")
        return data.count(b"#cc3311")

    assert red(stamped) > red(plain)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"allowed endings: .png, .pdf, .svg"):
        save_figure(Figure(), tmp_path / "a.tiff", "", {}, FigureForm())


def test_left_and_right_both_show_where_they_coincide_in_colour_and_in_grey():
    for axle in range(3):
        left, right = 2 * axle, 2 * axle + 1
        assert wheels_in_order(LAYOUT).index(left) < wheels_in_order(LAYOUT).index(right)
        luminances = []
        for wheels in ((left,), (left, right)):
            figure = Figure((2, 1), dpi=100)
            canvas = FigureCanvasAgg(figure)
            axes = figure.add_axes((0, 0, 1, 1))
            axes.set_axis_off()
            for wheel in wheels:
                axes.plot([0, 1], [0.5, 0.5], **wheel_style(LAYOUT, wheel))
            canvas.draw()
            grey = np.asarray(canvas.buffer_rgba())[..., :3].mean(axis=2)
            luminances.append(grey[49:51].min(axis=0)[20:180])
        alone, both = luminances
        assert (alone - both > 25.0).mean() > 0.2  # the right wheel's dashes are darker
        assert (abs(alone - both) < 3.0).mean() > 0.2  # and the left wheel shows between them
