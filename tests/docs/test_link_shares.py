"""Shares of the links in docs/explanation/sensing.md are those of the frame's statics."""

from __future__ import annotations

import math
import re

import pytest

from hil.config import load_config
from models.sensors.rear_frame import frame_share

ANGLES_DEG = (40, 50, 60, 70, 80, 90)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("rear", r"of the normal force,\s+([\d., and]+) at 40 to 90 degrees"),
        ("bottom", r"\*\*Share\.\*\* ([\d., and]+) of the normal force at 40 to 90 degrees"),
    ],
)
def test_shares_of_the_page_are_those_of_the_frame(pages, link, words):
    (found,) = re.findall(words, pages["docs/explanation/sensing.md"])
    radius = load_config("sim_impact").wheel_radius_m
    stated = re.findall(r"\d\.\d+", found)
    assert len(stated) == len(ANGLES_DEG)
    for angle, text in zip(ANGLES_DEG, stated, strict=True):
        half_a_digit = 0.51 * 10 ** -len(text.partition(".")[2])
        assert frame_share(link, math.radians(angle), radius) == pytest.approx(float(text), abs=half_a_digit)
