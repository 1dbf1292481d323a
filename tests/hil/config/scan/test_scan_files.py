"""Files of scans: each format gives the same points, and a config that names one has its map and no other ground."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from hil.config import ConfigError, load_config, parse_config
from hil.config.loading import shipped_files
from hil.config.model_parameters import nominal_rig
from hil.config.scan import points as readers
from hil.config.scan.grid import ScanError, ScanSettings, mound_points
from hil.config.scan.points import points_of, prepare_reading
from tools.make_mound import SEED, csv_text

SETTINGS = ScanSettings("m", "z", (0.0, 0.0), 0.0, 0.1, 0.15, 0.5)
POINTS = np.round(mound_points(1)[:2000], 3)


def csv(path):
    path.write_text("X;Y;Z;intensity\n" + "".join(f"{x};{y};{z};7\n" for x, y, z in POINTS.tolist()))


def xyz(path):
    path.write_text("# from a scanner\n" + "".join(f"{x} {y} {z}\n" for x, y, z in POINTS.tolist()))


def ply(path, order="<", columns="xyz", faces=0):
    """As a cloud, or as a mesh whose faces come first."""
    rows = np.zeros(len(POINTS), [(name, f"{order}f8") for name in columns])
    for axis, values in zip(columns[-3:], POINTS.T, strict=True):
        rows[axis] = values
    kind = {"<": "little", ">": "big"}[order]
    head = ["ply", f"format binary_{kind}_endian 1.0", "comment of a scanner"]
    head += [f"element face {faces}", "property list uchar int vertex_indices"] if faces else []
    head += [f"element vertex {len(POINTS)}", *(f"property double {name}" for name in columns), "end_header", ""]
    body = b"".join(bytes([3 + one % 2]) + bytes(4 * (3 + one % 2)) for one in range(faces)) + rows.tobytes()
    path.write_bytes("\n".join(head).encode() + body)


def ply_of_text(path):
    head = ["ply", "format ascii 1.0", "element camera 1", "property float view_x", f"element vertex {len(POINTS)}"]
    head += ["property float nx", *(f"property float {name}" for name in "xyz"), "end_header", "7"]
    path.write_text("\n".join([*head, *(f"0 {x} {y} {z}" for x, y, z in POINTS.tolist())]) + "\n")


def las(path, **fields):
    import laspy

    header = laspy.LasHeader(point_format=0, version="1.2")
    header.scales, header.offsets = [1e-3] * 3, [0.0] * 3
    data = laspy.LasData(header)
    data.x, data.y, data.z = POINTS.T
    for name, values in fields.items():
        data[name] = values
    data.write(str(path))


def read(path, **settings):
    prepare_reading(path.suffix)
    return points_of(path.read_bytes(), path.suffix, SETTINGS._replace(**settings)).points


WRITERS = {
    "a.csv": csv,
    "a.xyz": xyz,
    "a.ply": ply,
    "big-endian.ply": partial(ply, order=">"),
    "mesh.ply": partial(ply, columns="abXYZ", faces=5),
    "text.ply": ply_of_text,
    "a.las": las,
    "a.laz": las,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_points(tmp_path, name):
    WRITERS[name](tmp_path / name)
    assert read(tmp_path / name) == pytest.approx(POINTS, abs=1e-6)


ROWS = POINTS[:40]
DIALECTS = {
    "a quoted header": ('"X","Y","Z","Intensity"\n', "{},{},{},7", "utf-8"),
    "a header in a comment of slashes": ("//X Y Z R G B\n", "{} {} {} 1 2 3", "utf-8"),
    "units in the header": ("x [m],y (m),z_m\n", "{},{},{}", "utf-8"),
    "names of a survey": ("Easting;Northing;Elevation\n", "{};{};{}", "utf-8"),
    "decimal commas": ("X;Y;Z\n", "{!d};{!d};{!d}", "utf-8"),
    "decimal commas between blanks": ("", "{!d} {!d} {!d}", "utf-8"),
    "decimal commas between tabs": ("", "{!d}\t{!d}\t{!d}", "utf-8"),
    "other columns before": ("time,id,x,y,z\n", "0.5,3,{},{},{}", "utf-8"),
    "a number of points first": (f"{len(ROWS)}\n", "{} {} {} 10 1 2 3", "utf-8"),
    "words before the header": ("scanner: Leica\n\nx,y,z\n", "{},{},{}", "utf-8"),
    "commas and blanks": ("", "{}, {}, {}", "utf-8"),
    "a comma at the end": ("", "{},{},{},", "utf-8"),
    "exponents of Fortran": ("", "{}D+00 {}D+00 {}d+00", "utf-8"),
    "a letter of Latin-1": ("# Höhe\nx,y,z\n", "{},{},{}", "latin-1"),
    "UTF-16": ("x,y,z\n", "{},{},{}", "utf-16"),
    "points without a height": ("x,y,z\n1,2,\n1,2,nan\n", "{},{},{}", "utf-8"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_text_is_read_in_the_dialect_that_it_has(tmp_path, kind):
    head, form, encoding = DIALECTS[kind]
    rows = [form.replace("{!d}", "{}").format(*map(str, row)) for row in ROWS.tolist()]
    text = head + "\n".join(row.replace(".", ",") if "{!d}" in form else row for row in rows) + "\n"
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    assert read(tmp_path / "a.txt") == pytest.approx(ROWS)


@pytest.mark.parametrize(
    ("head", "settings", "key"),
    [
        ("x_mm,y_mm,z_mm", {}, "units"),
        ("x [m],y [m],z [m]", {"height_units": "cm"}, "height_units"),
        ("x,y,z", {"classes": (2,)}, "classes"),
    ],
)
def test_a_file_that_contradicts_the_settings_is_refused_with_the_key(tmp_path, head, settings, key):
    (tmp_path / "a.csv").write_text(f"{head}\n" + "1,2,3\n" * 20)
    with pytest.raises(ScanError) as caught:
        read(tmp_path / "a.csv", **settings)
    assert caught.value.key == key


def test_of_a_las_file_the_classes_that_are_asked_for_are_read(tmp_path):
    las(tmp_path / "a.las", classification=np.arange(len(POINTS)) % 3 + 1)
    assert read(tmp_path / "a.las", classes=(2, 3)) == pytest.approx(POINTS[np.arange(len(POINTS)) % 3 > 0], abs=1e-6)
    with pytest.raises(ScanError, match=r"classes of the file: \[1, 2, 3\]"):
        read(tmp_path / "a.las", classes=(9,))


def geotiff(path, height, place=(0.5, 0.0, 100.0, 0.0, -0.5, 50.0), scale=None, **options):
    rasterio = pytest.importorskip("rasterio")
    bands = height if height.ndim == 3 else height[None]
    options = {"dtype": height.dtype, "transform": rasterio.Affine(*place) if place else None, **options}
    with rasterio.open(
        path, "w", driver="GTiff", count=len(bands), height=bands.shape[1], width=bands.shape[2], **options
    ) as file:
        file.write(bands)
        if scale:
            file.scales, file.offsets = scale


def test_a_geotiff_gives_the_middle_of_each_cell_that_has_a_height(tmp_path):
    height = np.arange(20.0).reshape(4, 5)
    height[1, 2] = -9999.0
    geotiff(tmp_path / "a.tif", height, nodata=-9999.0)
    points = read(tmp_path / "a.tif")
    assert len(points) == 19
    assert points[0].tolist() == [100.25, 49.75, 0.0]
    assert points[-1].tolist() == [102.25, 48.25, 19.0]


def test_scale_and_offset_of_a_geotiffs_band_count(tmp_path):
    geotiff(tmp_path / "a.tif", np.arange(20, dtype=np.int16).reshape(4, 5), scale=([0.5], [7.0]))
    assert read(tmp_path / "a.tif")[:, 2].tolist() == [7.0 + 0.5 * one for one in range(20)]


@pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
@pytest.mark.parametrize(
    ("height", "options", "words"),
    [
        (np.ones((4, 5)), {"place": None}, "units|where its cells lie"),
        (np.ones((3, 4, 5), np.uint8), {"photometric": "RGB"}, "a picture"),
        (np.ones((4, 5), np.complex64), {}, "complex64; heights"),
        (np.ones((4, 5)), {"crs": "EPSG:4326"}, "places in degrees"),
        (np.ones((4, 5)), {"crs": "EPSG:2227"}, "units: m, though its projection has US survey foot"),
    ],
)
def test_a_raster_that_is_no_ground_in_metres_is_refused(tmp_path, height, options, words):
    geotiff(tmp_path / "a.tif", height, **options)
    with pytest.raises(ValueError, match=words):
        read(tmp_path / "a.tif")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "x,y\n1,2\n", "'1,2' in its first lines; rows x, y, z"),
        ("a.csv", "lon,lat,h\n1,2,3\n", "the header 'lon,lat,h'; columns named x, y, z"),
        ("a.csv", "1,2,3\n" * 20 + "1,2,high\n", "'high' in line 21; a number"),
        ("a.csv", "1,2,3\n" * 20 + "1,2\n", "2 columns in line 21; 3 or more"),
        ("a.csv", "1,2,3\n" * 10 + "1,2,nan\n" * 20, "10 points with finite coordinates"),
        ("a.csv", "30\n" + "1,2,3\n" * 20, "20 rows, though its first line says 30"),
        ("a.csv", "".join(f"{n},1,2,3,GRD\n" for n in range(20)), "a first column that counts the points"),
        ("a.csv", "1,2,3\n", "1 points with finite coordinates; 16 or more"),
        ("a.las", "ply\n", "begins as that of a .ply file"),
        ("a.dwg", "", "ends with .dwg; .csv"),
    ],
)
def test_what_is_no_scan_is_refused_in_words(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=words):
        read(tmp_path / name)


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(readers, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"laspy is not installed; install it: .*\[scan\]"):
        prepare_reading(".las")


def test_the_shipped_mound_is_that_of_its_seed_and_comes_with_a_copied_config():
    assert shipped_files("sim_scan")["scans/mound.csv"] == csv_text(SEED)


@pytest.mark.slow
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
        ({"drive.steps": [{"for_s": 60, "speed_mps": 0.2}]}, r"ground\.scan\.file: found a path of 12\.00 m"),
        ({"ground.scan": None}, r"ground\.scan: found null; allowed: file, units, up and start_m"),
        ({"ground.kind": "soil"}, r"ground\.scan: found a scan; allowed: null with kind soil"),
        ({"ground.pitch_deg": 3}, r"ground\.pitch_deg: found 3; allowed: 0 with ground\.kind scan"),
        ({"plant.ground_roll_deg": 1}, r"plant\.ground_roll_deg: found 1; allowed: 0"),
        ({"ground.wheel_height_m": [0.0] * 4}, r"ground\.wheel_height_m: found heights; allowed: null"),
    ],
)  # fmt: skip
@pytest.mark.slow
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
