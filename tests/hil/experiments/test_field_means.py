"""Means of ticks that come block by block."""

from __future__ import annotations

import numpy as np
import pytest

from hil.experiments.summary import FieldMeans

KIND = np.dtype([("state", "u1"), ("speed_mps", "<f8"), ("slip", "<f8", (4,))])


@pytest.fixture
def ticks():
    rows, chance = np.zeros(1000, KIND), np.random.default_rng(4)
    rows["speed_mps"], rows["slip"] = chance.normal(size=1000), chance.normal(size=(1000, 4))
    return rows


@pytest.mark.parametrize("size", [1000, 128, 7])
def test_means_of_blocks_are_those_of_all_rows(ticks, size):
    means = FieldMeans({"speed_mps": 0, "slip": 0})
    for first in range(0, 1000, size):
        means.add(ticks[first : first + size])
        means.add(ticks[:0])
    assert means.count == 1000
    assert means.mean("slip").tolist() == ticks["slip"].mean(axis=0).tolist()  # row by row: to the bit
    assert means.mean("speed_mps") == pytest.approx(ticks["speed_mps"].mean(), rel=1e-12)
    assert means.sum("speed_mps") == pytest.approx(ticks["speed_mps"].sum(), rel=1e-12)


def test_all_elements_of_a_field_have_one_mean_if_they_are_asked_for_together(ticks):
    means = FieldMeans({"slip": None})
    means.add(ticks[:300])
    means.add(ticks[300:])
    assert means.mean("slip") == pytest.approx(ticks["slip"].mean(), rel=1e-12)


def test_of_no_rows_there_is_a_sum_and_no_mean(ticks):
    means = FieldMeans({"slip": 0})
    means.add(ticks[:0])
    assert (means.count, means.sum("slip")) == (0, 0.0)
    with pytest.raises(KeyError):
        means.mean("slip")
