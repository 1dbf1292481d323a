"""The layout file for PlotJuggler uses only published fields."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from hil.messages.layout import SENSORS, Layout
from hil.messages.signals import tick_dtype
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)

LAYOUT = Path(__file__).parents[3] / "docs" / "plotjuggler.xml"


def published(name: str) -> list[str]:
    """Names of a field of a tick as PlotJuggler makes them: maps by key, lists by index."""
    shape = TICK[name].shape
    if shape == (len(WHEELS),):
        return [f"tick/{name}/{wheel}" for wheel in WHEELS]
    return [f"tick/{name}" + "".join(f"[{i}]" for i in place) for place in np.ndindex(shape)]


def test_every_curve_of_the_layout_is_published():
    known = {curve for name in TICK.names for curve in published(name)}
    curves = [curve.get("name") for curve in ET.parse(LAYOUT).iter("curve")]
    assert len(curves) > 20
    assert set(curves) <= known


def test_splitters_say_how_many_plots_they_hold():
    for splitter in ET.parse(LAYOUT).iter("DockSplitter"):
        count = int(splitter.get("count"))
        assert count == len(splitter.findall("DockArea")) == len(re.split(";", splitter.get("sizes")))
