"""Scattered points to a height map: exact on planes, mended within limits, refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config.scan.grid import ScanError, ScanSettings, grid_of, mound_height, mound_points
from hil.config.scan.map_text import grid_from, reading_digest, text_of

SETTINGS = ScanSettings("m", "z", (0.0, 0.0), 0.0, 0.1, 0.15, 0.5)


def plane_points(count=5000, seed=2):
    random = np.random.default_rng(seed)
    x, y = random.uniform(-1.0, 4.0, count), random.uniform(-1.0, 1.0, count)
    return np.column_stack([x, y, 0.2 * x - 0.1 * y + 7.0])


def nodes(grid):
    columns, rows = grid.height.shape
    return grid.x + grid.spacing * np.arange(columns)[:, None], grid.y + grid.spacing * np.arange(rows)[None]


def wrong_points(points, share, up):
    points = points.copy()
    points[: round(share * len(points)), 2] += up
    return points


def test_a_plane_is_met_whatever_its_points():
    grid = grid_of(plane_points(), SETTINGS)
    x, y = nodes(grid)
    assert grid.height == pytest.approx(0.2 * x - 0.1 * y, abs=1e-8)
    assert grid.height.shape >= (48, 18)


def test_the_start_is_the_origin_and_the_heading_the_x_axis():
    grid = grid_of(plane_points(), SETTINGS._replace(start_m=(3.0, 0.2), heading_deg=180.0))
    x, y = nodes(grid)
    assert grid.height == pytest.approx(-0.2 * x + 0.1 * y, abs=1e-8)


@pytest.mark.parametrize(("units", "times"), [("mm", 1000.0), ("cm", 100.0), ("ft", 1.0 / 0.3048)])
@pytest.mark.parametrize(("up", "order"), [("z", (0, 1, 2)), ("y", (1, 2, 0)), ("x", (2, 0, 1))])
def test_units_and_the_axis_up_are_those_that_are_said(units, times, up, order):
    points = times * plane_points()[:, order]
    grid = grid_of(points, SETTINGS._replace(units=units, up=up))
    x, y = nodes(grid)
    assert grid.height == pytest.approx(0.2 * x - 0.1 * y, abs=1e-8)


def test_the_seeded_mound_comes_out_within_its_noise_though_it_has_outliers():
    points = mound_points(3)
    grid = grid_of(points, SETTINGS)
    x, y = nodes(grid)
    error = grid.height - mound_height(x, y, 3)
    assert (error - error.mean()).std() < 0.001
    assert np.ptp(grid.height) > 0.45
    assert (mound_points(3) == points).all()
    assert (mound_points(4) != points).any()


@pytest.mark.parametrize(
    ("points", "changes", "key", "words"),
    [
        (plane_points() * 1000.0, {}, "units", "heights over at most 100 m"),
        (plane_points(), {"units": "mm"}, "units", "at least 1 m each way"),
        (wrong_points(plane_points(), 0.05, 0.8), {}, "outlier_m", "makes 5.0% of the points outliers"),
        (plane_points(), {"start_m": (9.0, 0.0)}, "start_m", "outside the scan"),
        (plane_points(), {"spacing_m": 0.01}, "spacing_m", "a larger spacing"),
        (plane_points()[:20], {}, "file", "40 or more"),
        (plane_points() * (1.0, 1.0, 8.0), {"outlier_m": 9.0}, "file", "a slope of 6[01] degrees"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_scan_that_cannot_be_used_is_refused_with_the_key_that_mends_it(points, changes, key, words):
    with pytest.raises(ScanError, match=words) as caught:
        grid_of(points, SETTINGS._replace(**changes))
    assert caught.value.key == key


@pytest.mark.parametrize("heading_deg", [0.0, 90.0])
def test_a_start_beside_the_scan_is_told_how_far_to_move(heading_deg):
    """The rover is behind the scan: it has to start farther ahead, not farther back."""
    ahead = [0, 1] if heading_deg == 0.0 else [1, 0]
    settings = SETTINGS._replace(start_m=tuple(np.array([-3.0, 0.2])[ahead].tolist()), heading_deg=heading_deg)
    with pytest.raises(ScanError, match=r"moved by \+2\.\d\d to \+[67]\.\d\d m") as caught:
        grid_of(plane_points()[:, [*ahead, 2]], settings)
    middle = np.array([1.5, 0.0])[ahead].tolist()
    said = caught.value.found.split("middle is at ")[1].strip("[]").split(", ")
    assert [float(one) for one in said] == pytest.approx(middle, abs=0.1)


def test_heights_may_have_a_unit_of_their_own():
    points = plane_points() * (1.0 / 0.3048, 1.0 / 0.3048, 100.0)
    grid = grid_of(points, SETTINGS._replace(units="ft", height_units="cm"))
    x, y = nodes(grid)
    assert grid.height == pytest.approx(0.2 * x - 0.1 * y, abs=1e-8)


@pytest.mark.parametrize("value", [-9999.0, -3.4028234663852886e38])
def test_a_value_that_stands_for_no_height_is_named(value):
    points = plane_points()
    points[:9, 2] = value
    with pytest.raises(ScanError, match=f"9 points have {value:.6g} m, as if for no height".replace("+", r"\+")):
        grid_of(points, SETTINGS)


def test_a_map_that_was_read_before_there_were_more_settings_stays():
    assert reading_digest(SETTINGS) == "1eb6c20e6f671e2e"
    assert reading_digest(SETTINGS._replace(classes=(2,))) != reading_digest(SETTINGS)


def test_a_small_hole_is_filled_and_a_wide_one_is_refused():
    points = plane_points()
    away = np.hypot(points[:, 0] - 2.0, points[:, 1])
    grid = grid_of(points[away > 0.2], SETTINGS)
    x, y = nodes(grid)
    assert grid.height == pytest.approx(0.2 * x - 0.1 * y, abs=1e-6)
    with pytest.raises(ScanError, match=r"a wider hole at x [12]\.\d\d m"):
        grid_of(points[away > 0.5], SETTINGS)


def test_a_map_comes_back_from_its_text_to_a_tenth_of_a_millimetre_and_damage_is_seen():
    grid = grid_of(mound_points(1), SETTINGS)
    text = text_of(grid, b"content", SETTINGS)
    again = grid_from(text)
    assert again.height == pytest.approx(grid.height, abs=0.51e-4)
    assert again[1:] == grid[1:]
    assert len(text) < 10_000
    for broken in (text[:-40], text.replace("height_map_1", "map"), text.replace(" 0.1 ", " nan ")):
        with pytest.raises(ValueError, match="height map"):
            grid_from(broken)
