"""The plant's own figures of the sensors' load over the first contact, against integrals of a known force."""

from __future__ import annotations

import numpy as np
import pytest

from models.plant.plate_truth import OVER_SHARE, make_plate_truth, note_plate, plate_truth
from models.sensors.piezo import Piezo

PLACE = np.array([(0.0, 0.05), (0.05, -0.05), (-0.05, -0.05)])
LINKS = np.array([(0.25, np.nan), (-0.25, np.nan)])
DT = 1e-4
BEGIN_S, LENGTH_S, PEAK_N = 0.10003, 0.15, 80.0


def half_sine(t_s):
    phase = (t_s - BEGIN_S) / LENGTH_S
    return PEAK_N * np.sin(np.pi * phase) if 0.0 < phase < 1.0 else 0.0


def sensors(place, rear_reach=0.0):
    channels = [np.ones(len(place)) for _ in range(4)]
    return Piezo(place, *channels[:3], 5.0, 1e-3, channels[3], 20.0, 0.05, 0.0, rear_reach)


def after(channels, left, right, seconds=0.5, piezo=None, across=0.0):
    piezo = piezo or sensors(PLACE[:channels])
    plate = make_plate_truth(channels)
    for number in range(1, round(seconds / DT)):
        t_s = number * DT
        loads, last = (left(t_s), right(t_s)), (left(t_s - DT), right(t_s - DT))
        note_plate(plate, piezo, across, -0.05 / 3.0, loads, last, t_s, DT)
    return plate_truth(plate)


def check(found, peak_N):
    edge = np.arcsin(OVER_SHARE) / np.pi * LENGTH_S
    assert found.onset_s == pytest.approx(BEGIN_S, abs=2e-6)
    assert found.peak_N == pytest.approx(peak_N, rel=1e-5)
    assert found.end_s == pytest.approx(BEGIN_S + LENGTH_S - edge, abs=2.0 * DT)
    whole = 2.0 * peak_N * LENGTH_S / np.pi
    assert found.impulse_Ns == pytest.approx(whole * (1.0 + np.cos(np.pi * edge / LENGTH_S)) / 2.0, rel=1e-3)


def test_load_of_the_triangle_is_that_of_the_starboard_wheel():
    found = after(3, lambda t_s: 3.0 * half_sine(t_s), half_sine)
    check(found, PEAK_N)
    assert found.sum_of_peaks_N == pytest.approx(found.peak_N)  # the point does not move


def test_load_of_bumpers_is_that_of_both_wheels():
    found = after(2, half_sine, half_sine)
    check(found, 2.0 * PEAK_N)


def test_load_of_rear_links_is_that_of_the_starboard_wheel_shared_by_its_place_across():
    plate = sensors(LINKS, rear_reach=0.3)
    found = after(2, lambda t_s: 3.0 * half_sine(t_s), half_sine, piezo=plate, across=0.1)
    check(found, PEAK_N)
    assert found.sum_of_peaks_N == pytest.approx(found.peak_N)


def test_second_contact_is_not_part_of_the_first():
    again = after(3, lambda _: 0.0, lambda t_s: half_sine(t_s) + 2.0 * half_sine(t_s - 0.2))
    assert again == after(3, lambda _: 0.0, half_sine)


def test_without_a_contact_there_is_nothing():
    assert after(3, lambda _: 5.0, lambda _: 0.0) is None
