"""Ruts from two scans: pressed into a known ground along the rover's tracks, and scanned from another place."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import cKDTree
from typer.testing import CliRunner

import hil
from hil.analysis.report.page import rut_rows
from hil.analysis.ruts import HeightDifference, measure_ruts
from hil.cli import app
from hil.config import ConfigError
from hil.config.scan.grid import ScanSettings, grid_of, mound_height, mound_points

pytestmark = pytest.mark.slow

SEED, WIDTH_M, DEPTH_M, HEAP_M = 1, 0.25, 0.03, 0.006
SETTINGS = ScanSettings("m", "z", (0.0, 0.0), 0.0, spacing_m=0.1, outlier_m=0.15, hole_m=0.5)
SHIFT_M, TURN_DEG = (0.012, -0.008, 0.03), 0.4
WHEELS = {
    "front_left": (0.41, 0.6),
    "front_right": (0.41, -0.6),
    "rear_left": (-0.44, 0.6),
    "rear_right": (-0.44, -0.6),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A drive of 0.7 m from the shipped scan's start."""
    steps = {"drive.steps": [{"for_s": 6.0, "speed_mps": 0.2}]}
    return hil.run(hil.load("sim_scan", steps)).save(tmp_path_factory.mktemp("run") / "drive")


def tracks_of(run):
    """Tracks of both sides (points, 2) [m], from the pose of the record and the rover's drawing."""
    pose = hil.open(run).ticks["pose"][::20].astype(float)
    heading = 2.0 * np.arctan2(pose[:, 5], pose[:, 6])
    c, s = np.cos(heading), np.sin(heading)
    return {name: pose[:, :2] + np.column_stack([c * x - s * y, s * x + c * y]) for name, (x, y) in WHEELS.items()}


def later_scan(path, run, *, depth=DEPTH_M, heap=HEAP_M, ends=((-1.1, 4.0), (-1.4, 1.4))):
    """Write what a scanner would see after the run, from a place that is not quite the same."""
    random = np.random.default_rng(5)
    place = random.uniform(*np.transpose(ends), (100_000, 2))
    away, _ = cKDTree(np.concatenate(list(tracks_of(run).values()))).query(place)
    wall = np.tan(np.radians(35.0))  # a rut's walls stand at the angle of repose
    height = mound_height(*place.T, SEED) - np.clip(wall * (0.5 * WIDTH_M - away), 0.0, depth)
    height += np.where((away > 0.7 * WIDTH_M) & (away <= 1.1 * WIDTH_M), heap, 0.0)
    points = np.column_stack([place, height + 0.002 * random.standard_normal(len(place))])
    c, s = np.cos(np.radians(TURN_DEG)), np.sin(np.radians(TURN_DEG))
    points = points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + SHIFT_M
    path.write_text("x,y,z\n" + "\n".join(",".join(f"{value:.4f}" for value in row) for row in points.tolist()))
    return path


@pytest.fixture(scope="module")
def found(run, tmp_path_factory):
    return measure_ruts(run, later_scan(tmp_path_factory.mktemp("scan") / "after.csv", run))


def test_a_known_rut_has_its_depth_beyond_what_the_ground_before_is_uncertain_by(found, run, tmp_path):
    untouched = measure_ruts(run, later_scan(tmp_path / "after.csv", run, depth=0.0, heap=0.0))
    for rut, none in zip(found.wheels, untouched.wheels, strict=True):
        assert rut.depth_m[0] - none.depth_m[0] == pytest.approx(DEPTH_M, rel=0.03)  # what a map smooths of its walls
        assert rut.depth_m[1] < 0.05 * DEPTH_M


def test_volume_of_a_known_rut_and_of_its_heaps_is_within_its_interval(found, run):
    tracks = tracks_of(run)
    nodes = np.stack(np.meshgrid(np.arange(-1.0, 2.0, 0.01), np.arange(-1.2, 1.2, 0.01)), -1).reshape(-1, 2)
    for rut in found.wheels:
        from_any, _ = cKDTree(np.concatenate(list(tracks.values()))).query(nodes)
        own, _ = cKDTree(tracks[rut.wheel]).query(nodes)
        pressed = np.clip(np.tan(np.radians(35.0)) * (0.5 * WIDTH_M - from_any), 0.0, DEPTH_M)
        dug = 1e-4 * pressed[own <= 0.5 * WIDTH_M + 0.05].sum()
        assert abs(rut.volume_m3[0] - dug) <= rut.volume_m3[1] + 0.05 * dug, rut
        assert rut.heaps_m3[0] > 0.0


def test_the_scanners_other_place_is_found(found):
    move = np.array([*found.registration.shift_m, *found.registration.turn_deg])
    assert abs(move[5] + TURN_DEG) <= found.registration.u95[5]
    assert found.registration.noise_m < 0.004


def test_ground_that_nobody_drove_over_has_no_rut_beyond_what_is_stated():
    x = np.arange(-0.4, 0.4, 0.01)
    tracks = [np.column_stack([x, np.full_like(x, y)]) for y in (0.6, -0.6)]
    off = []
    for seed in range(1, 11):
        random = np.random.default_rng(seed)
        place = random.uniform((-1.1, -1.4), (2.0, 1.4), (9000, 2))
        height = mound_height(*place.T, seed) + 0.002 * random.standard_normal(len(place)) + SHIFT_M[2]
        later = grid_of(np.column_stack([place + SHIFT_M[:2], height]), SETTINGS._replace(spacing_m=0.05))
        difference = HeightDifference(later, grid_of(mound_points(seed), SETTINGS), tracks, WIDTH_M, "later")
        for track in tracks:
            away, _ = cKDTree(track).query(difference.place)
            depth, u95 = difference.mean(away <= 0.25 * WIDTH_M)
            off.append(depth / u95)
    assert 0.6 < 1.96 * np.sqrt(np.mean(np.square(off))) < 1.5  # of 10 grounds, 20 tracks


def test_a_scan_that_cannot_be_compared_is_refused_with_what_to_do(run, tmp_path):
    with pytest.raises(ConfigError, match=r"--spacing: found 0\.2 m; allowed: at most 0\.125 m"):
        measure_ruts(run, tmp_path / "after.csv", 0.2)
    with pytest.raises(ConfigError, match=r"after\.csv"):
        measure_ruts(run, tmp_path / "after.csv")
    narrow = later_scan(tmp_path / "narrow.csv", run, ends=((-0.5, 0.7), (-0.75, 0.75)))
    with pytest.raises(ConfigError, match="next to the ruts"):
        measure_ruts(run, narrow)


def test_a_scan_that_ends_next_to_a_rut_has_no_heaps(found):
    cut_off = found._replace(wheels=[rut._replace(heaps_m3=(np.nan, np.nan)) for rut in found.wheels])
    written = json.loads(json.dumps(cut_off.as_json(), allow_nan=False))
    assert [wheel["heaps_m3"] for wheel in written["wheels"]] == [[None, None]] * 4


def test_the_command_writes_table_figure_and_numbers(run, tmp_path):
    after = later_scan(tmp_path / "after.csv", run)
    ended = CliRunner().invoke(app, ["ruts", str(run), str(after), "--out", str(tmp_path / "out")])
    assert ended.exit_code == 0, ended.output
    assert "front left" in ended.output
    written = json.loads((tmp_path / "out" / "ruts.json").read_text())
    assert [wheel["wheel"] for wheel in written["wheels"]] == list(WHEELS)
    assert (tmp_path / "out" / "ruts.png").stat().st_size > 20_000


def test_a_report_shows_the_ruts_of_a_run_whose_folder_has_the_scan_after_it(run, found, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    trial = SimpleNamespace(label="3", folder=folder)
    assert rut_rows([trial, SimpleNamespace(label="4", folder=None)]) == []
    later_scan(folder / "after.csv", run)
    assert rut_rows([trial]) == [("3", rut.cells) for rut in found.wheels]
    ended = CliRunner().invoke(app, ["report", str(folder)])
    assert ended.exit_code == 0, ended.output
    assert all(cell in ended.output for cell in found.wheels[0].cells)
    assert (folder / "ruts.png").stat().st_size > 20_000
    later_scan(folder / "after.csv", run, ends=((-0.5, 0.7), (-0.75, 0.75)))
    ((_, (wrong,)),) = rut_rows([trial])
    assert "next to the ruts" in wrong
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 2
