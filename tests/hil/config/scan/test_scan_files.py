"""Files of scans: each format gives the same points, and a config that names one has its map and no other ground."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config import ConfigError, load_config, parse_config
from hil.config.load import shipped_files
from hil.config.model_parameters import nominal_rig
from hil.config.scan import points as readers
from hil.config.scan.mound import mound_points
from hil.config.scan.points import read_points
from tools.make_mound import SEED, csv_text

POINTS = np.round(mound_points(1)[:2000], 3)


def csv(path):
    path.write_text("X;Y;Z;intensity\n" + "".join(f"{x};{y};{z};7\n" for x, y, z in POINTS.tolist()))


def xyz(path):
    path.write_text("# from a scanner\n" + "".join(f"{x} {y} {z}\n" for x, y, z in POINTS.tolist()))


def ply(path):
    import trimesh

    path.write_bytes(trimesh.PointCloud(POINTS).export(file_type="ply"))


def las(path):
    import laspy

    header = laspy.LasHeader(point_format=0, version="1.2")
    header.scales, header.offsets = [1e-3] * 3, [0.0] * 3
    data = laspy.LasData(header)
    data.x, data.y, data.z = POINTS.T
    data.write(str(path))


@pytest.mark.parametrize(
    ("name", "write"), [("a.csv", csv), ("a.xyz", xyz), ("a.ply", ply), ("a.las", las), ("a.laz", las)]
)
def test_every_format_gives_the_same_points(tmp_path, name, write):
    write(tmp_path / name)
    points, content = read_points(tmp_path / name)
    assert points == pytest.approx(POINTS, abs=1e-6)
    assert content == (tmp_path / name).read_bytes()


def test_a_geotiff_gives_the_middle_of_each_cell_that_has_a_height(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    height = np.arange(20.0).reshape(4, 5)
    height[1, 2] = -9999.0
    place = rasterio.Affine(0.5, 0.0, 100.0, 0.0, -0.5, 50.0)
    options = {"driver": "GTiff", "height": 4, "width": 5, "count": 1, "dtype": "float64", "nodata": -9999.0}
    with rasterio.open(tmp_path / "a.tif", "w", transform=place, **options) as file:
        file.write(height, 1)
    points, _ = read_points(tmp_path / "a.tif")
    assert len(points) == 19
    assert points[0].tolist() == [100.25, 49.75, 0.0]
    assert points[-1].tolist() == [102.25, 48.25, 19.0]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "x,y\n1,2\n", "a first row of 2 columns"),
        ("a.csv", "east,north,up\n1,2,3\n", "x, y, z as the first three"),
        ("a.csv", "1,2,3\n" * 20 + "1,2,high\n", "high"),
        ("a.csv", "1,2,3\n" * 20 + "1,2,nan\n", "point 21 has a coordinate that is not finite"),
        ("a.csv", "1,2,3\n", "1 points; 16 or more"),
        ("a.dwg", "", "ends with .dwg; .csv"),
    ],
)
def test_what_is_no_scan_is_refused_in_words(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=words):
        read_points(tmp_path / name)


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    (tmp_path / "a.ply").write_bytes(b"ply")
    monkeypatch.setattr(readers, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"trimesh is not installed; install it: .*\[scan\]"):
        read_points(tmp_path / "a.ply")


def test_the_shipped_mound_is_that_of_its_seed_and_comes_with_a_copied_config():
    assert shipped_files("sim_scan")["scans/mound.csv"] == csv_text(SEED)


def test_a_config_contains_the_map_of_its_file_and_its_fingerprint_the_content(tmp_path):
    files = shipped_files("sim_scan")
    (tmp_path / "scans").mkdir()
    (tmp_path / "mine.yaml").write_text(files["sim_scan.yaml"])
    prints = []
    for text in (files["scans/mound.csv"], files["scans/mound.csv"] + "1.234,0.5,0.3\n"):
        (tmp_path / "scans" / "mound.csv").write_text(text)
        config = load_config(tmp_path / "mine.yaml")
        prints.append(config.sha256())
    assert prints[0] == load_config("sim_scan").sha256() != prints[1]
    (tmp_path / "scans" / "mound.csv").unlink()
    again = parse_config(config.to_yaml(), "again")  # as a record has it
    assert again.sha256() == prints[1]
    relief = nominal_rig(again).ground.terrain.relief
    assert float(np.ptp(relief.height)) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ground.scan.units": "mm"}, r"ground\.scan\.units: found mm, which gives ground of"),
        ({"ground.scan.file": "none.csv"}, r"ground\.scan\.file: .*none\.csv: No such file.*looked for"),
        ({"ground.scan.start_m": [5.9, 0.0]}, r"ground\.scan\.start_m: found a start with a wheel"),
        ({"ground.scan.spacing_m": 0.01}, r"ground\.scan\.spacing_m: found 0\.01 m gives"),
        ({"drive.steps": [{"for_s": 60, "speed_mps": 0.2}]}, r"ground\.scan\.file: found a way of 12\.00 m"),
        ({"ground.scan": None}, r"ground\.scan: found null; allowed: file, units, up and start_m"),
        ({"ground.kind": "soil"}, r"ground\.scan: found a scan; allowed: null with kind soil"),
        ({"ground.pitch_deg": 3}, r"ground\.pitch_deg: found 3; allowed: 0 with ground\.kind scan"),
        ({"plant.ground_roll_deg": 1}, r"plant\.ground_roll_deg: found 1; allowed: 0"),
        ({"ground.wheel_height_m": [0.0] * 4}, r"ground\.wheel_height_m: found heights; allowed: null"),
    ],
)  # fmt: skip
def test_a_config_whose_scan_does_not_fit_is_refused_when_it_is_loaded(changes, words):
    with pytest.raises(ConfigError, match=words):
        load_config("sim_scan", changes)


def test_a_hollow_narrower_than_the_wheel_is_refused_with_its_place(tmp_path):
    grid = np.stack(np.meshgrid(np.arange(-1.0, 7.0, 0.1), np.arange(-1.2, 1.25, 0.1)), axis=-1).reshape(-1, 2)
    height = 0.08 * np.cos(2.0 * np.pi * grid[:, 0] / 0.6)
    rows = [f"{x:.3f},{y:.3f},{z:.4f}" for (x, y), z in zip(grid.tolist(), height.tolist(), strict=True)]
    (tmp_path / "waves.csv").write_text("\n".join(rows))
    with pytest.raises(
        ConfigError, match=r"ground\.scan\.file: found a hollow of radius 0\.\d+ m at x .*: at least the"
    ):
        load_config("sim_scan", {"ground.scan.file": str(tmp_path / "waves.csv")})
