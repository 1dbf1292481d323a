"""Peaks normalised by the grousers' offset: a known effect is found, and no trial is scaled without one."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.report.force_figures import force_over_offset, normalised
from hil.analysis.report.groups import Group, Trial

PITCH = 360.0 / 22.0


def rows(count, cosine=0.12, sine=-0.05, noise=0.01, angles=(40.0, 60.0, 90.0)):
    random = np.random.default_rng(5)
    found = []
    for number in range(count):
        angle, offset = angles[number % len(angles)], random.uniform(-0.5, 0.5) * PITCH
        phase = 2.0 * np.pi * offset / PITCH
        scale = 1.0 + cosine * np.cos(phase) + sine * np.sin(phase)
        force = (100.0 + angle) * scale * (1.0 + noise * random.standard_normal())
        found.append({
            "number": number, "angle_deg": angle, "grouser_offset_deg": offset, "grouser_pitch_deg": PITCH,
            "sum_of_peaks_N": force, "status": "kept",
        })  # fmt: skip
    return found


def test_known_effect_of_the_offset_is_found_and_taken_out():
    found = normalised(rows(60))
    assert found.cosine == pytest.approx(0.12, abs=0.015)
    assert found.sine == pytest.approx(-0.05, abs=0.015)
    assert found.deviation > 0.05
    assert found.left < 0.012


def test_normalised_peaks_are_those_without_the_effect():
    for _, angle, _, _, _, scaled in normalised(rows(60, noise=0.0)).rows:
        assert scaled == pytest.approx(100.0 + angle, rel=0.02)


def test_without_an_effect_hardly_anything_is_scaled():
    found = normalised(rows(60, cosine=0.0, sine=0.0))
    assert np.hypot(found.cosine, found.sine) < 0.01
    assert found.left == pytest.approx(found.deviation, rel=0.15)


def test_too_few_trials_or_smooth_wheels_have_no_normalised_peaks():
    assert normalised(rows(8)) is None  # three angles and two of the offset leave three
    assert normalised(rows(9)) is not None
    assert normalised([row | {"grouser_offset_deg": None} for row in rows(60)]) is None
    assert normalised([]) is None


def test_figure_shows_each_group_with_grousers_once():
    groups = [
        Group(label, "soil", tuple(Trial(row, None, {}, "") for row in rows(count)))
        for label, count in (("hard", 30), ("soft", 30), ("few", 5))
    ]
    ((left, _),) = (figure.axes for figure in force_over_offset(groups))
    assert list(left.get_legend_handles_labels()[1]) == ["hard", "soft"]
    assert force_over_offset(groups[2:]) == []  # no empty figure
