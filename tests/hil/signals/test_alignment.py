"""Fits that align instruments of motion, on records that are made up here with known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.signals.alignment import (
    LEAST_WAY_M,
    Readings,
    Travel,
    at_rest,
    levelled,
    noise_of,
    rotation,
    standing,
    straight_drive,
    turn_from_drive,
    yaw_from_drive,
)
from hil.signals.calibration_fits import CalibrationError

NOISE_M, RATE_HZ, SLIP = 0.0005, 100.0, 0.03
SEEDS = range(40)


def wheels(far_m=0.5, speed_mps=0.08):
    """Stands 2 s, drives ahead, stands 3 s, drives back, stands 2 s; half a second from rest to its speed."""
    t_s = np.arange(0.0, 7.0 + 2.0 * far_m / speed_mps, 0.001)
    edges = np.cumsum([2.0, far_m / speed_mps, 3.0, far_m / speed_mps])
    wanted = np.select(
        [t_s < edges[0], t_s < edges[1], t_s < edges[2], t_s < edges[3]], [0, speed_mps, 0, -speed_mps], 0
    )
    speed = np.convolve(np.pad(wanted, 250, mode="edge"), np.ones(501) / 501, mode="valid")
    return Travel(t_s, np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(t_s))]), speed)


def seen(drive, turn_deg, late_s, seed, *, veer_per_m=0.0):
    """Readings of the places of that drive in axes that are turned, with noise."""
    random, t_s = np.random.default_rng(seed), np.arange(0.0, drive.t_s[-1], 1.0 / RATE_HZ)
    way = (1.0 - SLIP) * np.interp(t_s - late_s, drive.t_s, drive.way_m)
    world = np.column_stack([way, 0.5 * veer_per_m * way**2, np.zeros(len(way))]) + np.array([1.0, 2.0, 0.3])
    values = rotation(turn_deg).inv().apply(world) + NOISE_M * random.standard_normal((len(t_s), 3))
    return Readings(t_s, values, np.arange(len(t_s)))


@pytest.mark.parametrize("veer_per_m", [0.0, 0.05], ids=["straight", "veering"])
def test_axes_and_delay_lie_within_their_standard_deviations_of_the_truth_over_seeds(veer_per_m):
    drive, turn_deg, late_s = wheels(), (0.0, -2.0, 30.0), 0.012
    errors = []
    for seed in SEEDS:
        found = straight_drive(seen(drive, turn_deg, late_s, seed, veer_per_m=veer_per_m), drive)
        _, pitch, yaw = turn_from_drive(found.direction, 0.0)
        sd = np.degrees(found.cross_sd)
        errors.append([(pitch + 2.0) / sd, (yaw - 30.0) / sd, (found.late_s.value - late_s) / found.late_s.sd])
        assert sd < 0.05
        assert found.late_s.sd < 0.001
        assert found.scale.value == pytest.approx(1.0 - SLIP, abs=5.0 * found.scale.sd)
    # The mean square of n numbers of a standard normal distribution is 1 within 4 sqrt(2 / n).
    squares = np.mean(np.square(errors), axis=0)
    assert (abs(squares - 1.0) < 4.0 * np.sqrt(2.0 / len(SEEDS))).all(), squares


def test_a_way_that_is_too_short_gives_no_axes():
    drive = wheels(far_m=0.5 * LEAST_WAY_M)
    with pytest.raises(CalibrationError, match=r"0\.1 m at most, allowed: 0\.2 m"):
        straight_drive(seen(drive, (0.0, 0.0, 0.0), 0.0, 1), drive)


def test_an_instrument_that_does_not_see_the_drive_gives_no_axes():
    drive = wheels()
    readings = seen(drive, (0.0, 0.0, 0.0), 0.0, 1)
    with pytest.raises(CalibrationError, match="of the wheels' distance"):
        straight_drive(readings._replace(values=np.full_like(readings.values, 0.3)), drive)


@pytest.mark.parametrize("ground", [(0.0, 0.0), (3.0, -8.0)], ids=["level", "slope"])
def test_standing_gives_roll_and_pitch_of_a_unit_on_level_and_on_a_slope(ground):
    body = rotation((ground[0], -ground[1], 40.0))
    up = body.inv().apply([0.0, 0.0, 1.0])
    turn_deg = (12.0, -7.0, 25.0)
    force = rotation(turn_deg).inv().apply(9.81 * up)
    np.testing.assert_allclose(levelled(force, up, 25.0), turn_deg, atol=1e-9)


def test_the_yaw_of_a_unit_lies_within_its_standard_deviation_of_the_truth_over_seeds():
    drive, turn_deg, noise = wheels(), (2.0, -3.0, 20.0), 0.05
    t_s = np.arange(0.0, drive.t_s[-1], 0.005)
    body = np.column_stack([np.gradient(np.interp(t_s, drive.t_s, drive.speed_mps), t_s), 0.0 * t_s, 9.81 + 0.0 * t_s])
    errors = []
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        own = rotation(turn_deg).inv().apply(body) + noise * random.standard_normal(body.shape)
        readings = Readings(t_s, own, np.arange(len(t_s)))
        mean = own[t_s < 1.5].mean(axis=0)
        found = yaw_from_drive(readings, mean, levelled(mean, np.array([0.0, 0.0, 1.0]), 0.0), drive)
        errors.append((found.value - 20.0) / found.sd)
    assert np.mean(np.square(errors)) == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / len(SEEDS)))


def test_wheels_that_never_change_their_speed_give_no_yaw():
    t_s = np.arange(0.0, 5.0, 0.005)
    readings = Readings(t_s, np.ones((len(t_s), 6)), np.arange(len(t_s)))
    still = Travel(t_s, 0.0 * t_s, 0.0 * t_s)
    with pytest.raises(CalibrationError, match="did not change their speed"):
        yaw_from_drive(readings, np.ones(3), (0.0, 0.0, 0.0), still)


@pytest.mark.parametrize("noise_radps", [0.0, 0.002, 0.02])
def test_stretches_of_standing_end_before_the_wheels_move_whatever_noise_the_encoders_read(noise_radps):
    drive, each = wheels(), 4  # ticks to a reading of the encoders
    read = (drive.speed_mps / 0.175)[::each, None]
    read = read + noise_radps * np.random.default_rng(2).standard_normal((len(read), 2))
    found = standing(drive.t_s, read.repeat(each, axis=0)[: len(drive.t_s)])
    assert len(found) == 3
    assert found[0].begin_s == 0.0
    assert all(abs(np.interp([one.begin_s, one.end_s], drive.t_s, drive.speed_mps)).max() == 0.0 for one in found)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (lambda t_s, noise: noise, None),
        (lambda t_s, noise: noise + 0.01 * t_s[:, None], "moved while the wheels stood"),
        (lambda t_s, noise: noise[:0], "0 readings"),
    ],
    ids=["still", "drifting", "none"],
)
def test_only_readings_that_stand_still_count_as_standing(values, words):
    drive, t_s = wheels(), np.arange(0.0, 1.5, 0.01)
    noise = NOISE_M * np.random.default_rng(3).standard_normal((len(t_s), 3))
    kept = values(t_s, noise)
    readings = Readings(t_s[: len(kept)], kept, np.arange(len(kept)))
    stretches = standing(drive.t_s, drive.speed_mps[:, None] / 0.175)
    if words is None:
        assert noise_of(at_rest(readings, stretches, "it")) == pytest.approx(NOISE_M, rel=0.3)
        return
    with pytest.raises(CalibrationError, match=words):
        at_rest(readings, stretches, "it")


def test_a_run_without_standing_is_refused():
    t_s = np.arange(0.0, 5.0, 0.01)
    readings = Readings(t_s, np.zeros((len(t_s), 3)), np.arange(len(t_s)))
    with pytest.raises(CalibrationError, match="did not stand"):
        at_rest(readings, standing(t_s, np.ones((len(t_s), 1))), "it")


def test_turns_are_about_x_then_y_then_z():
    by_hand = Rotation.from_euler("z", 30, degrees=True) * Rotation.from_euler("y", 20, degrees=True)
    by_hand *= Rotation.from_euler("x", 10, degrees=True)
    np.testing.assert_allclose(rotation((10.0, 20.0, 30.0)).as_matrix(), by_hand.as_matrix(), atol=1e-12)
