"""A raster of soil classes becomes regions: outlines of its areas, as people see the file, without its stairs."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from hil.config import ConfigError, load_config
from hil.config.model_parameters import nominal_rig
from hil.config.soil_raster.areas import areas_of, read_classes
from models.contact.regions import make_regions, share

SOILS = "[{number: 2, stiffness: 1.0e+5}, {number: 3, stiffness: 1.0e+9, exponent: 1}]"


def area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def classes():
    """A field of class 2 with a hole of another soil, the soil around in a second hole, and rock in a corner."""
    found = np.zeros((20, 12), int)
    found[3:15, 2:10], found[6:9, 4:7], found[10:12, 5:8], found[18:, 10:] = 2, 0, 3, 3
    return found


def test_areas_have_the_outlines_of_their_cells_and_what_lies_inside_comes_later():
    found = areas_of(classes(), {2, 3})
    assert [one.number for one in found] == [2, 0, 3, 3]
    assert [area(one.corners) for one in found] == [96.0, 9.0, 6.0, 4.0]
    assert sorted(map(tuple, found[0].corners.tolist())) == [(3.0, 2.0), (3.0, 10.0), (15.0, 2.0), (15.0, 10.0)]


def test_a_slanted_border_is_a_line_and_a_disc_keeps_its_area():
    i, j = np.indices((40, 40))
    slanted = areas_of((i > j).astype(int), {1})[0].corners
    assert len(slanted) <= 5
    assert area(slanted) == pytest.approx((i > j).sum(), abs=25.0)  # half a cell along the border
    disc = ((i - 20) ** 2 + (j - 20) ** 2 < 225).astype(int)
    assert area(areas_of(disc, {1})[0].corners) == pytest.approx(disc.sum(), rel=0.02)


def test_too_many_areas_or_corners_are_refused():
    board = np.indices((30, 30)).sum(axis=0) % 2
    with pytest.raises(ValueError, match="more than 64 areas"):
        areas_of(board, {1})
    comb = np.zeros((80, 12), int)
    comb[:, :4], comb[::2, 4:] = 1, 1
    with pytest.raises(ValueError, match=r"class 1 with \d+ corners; at most 64"):
        areas_of(comb, {1})


def test_what_lies_inside_a_thin_ring_comes_after_it_though_it_is_larger():
    ring = np.zeros((40, 40), int)
    ring[4:36, 4:36], ring[5:35, 5:35] = 2, 3
    assert [one.number for one in areas_of(ring, {2})] == [2, 3]


def test_a_raster_of_noise_is_refused():
    """Of a classified photograph each cell may be an area of its own."""
    noise = np.random.default_rng(1).integers(0, 256, (300, 300))
    with pytest.raises(ValueError, match="more than 64 areas"):
        areas_of(noise, {1})
    noise[:, 0] = noise[0] = noise[:, -1] = noise[-1] = 300  # a ring around all of it
    with pytest.raises(ValueError, match="more than 64 areas"):
        areas_of(noise, {300})


def test_a_picture_is_refused_by_its_size_before_it_is_unpacked():
    file = io.BytesIO()
    Image.new("L", (9000, 9000)).save(file, "PNG")
    with pytest.raises(ValueError, match=r"9000, 9000\) cells; at most 1000000"):
        read_classes(file.getvalue(), ".png")
    with pytest.raises(ValueError, match="no picture that can be read"):
        read_classes(b"GIF89a" + bytes(100), ".png")


def picture(kind):
    """As people see it: the last row of the file is the lowest one."""
    file = io.BytesIO()
    Image.fromarray(classes().T[::-1].astype(np.uint8)).save(file, kind)
    return file.getvalue()


def test_each_kind_of_file_gives_the_same_classes_the_lowest_row_at_the_smallest_y():
    text = "# seen from above\n" + "\n".join(",".join(map(str, row)) for row in classes().T[::-1].tolist())
    for content, suffix in ((picture("PNG"), ".png"), (picture("TIFF"), ".TIF"), (text.encode(), ".csv")):
        np.testing.assert_array_equal(read_classes(content, suffix), classes())


@pytest.mark.parametrize(
    ("content", "suffix", "said"),
    [
        (b"1,2\n3,4.5\n", ".csv", "not whole; classes"),
        (b"no picture", ".png", "no picture that can be read"),
        (b"1,2\n", ".csv", "2 or more both ways"),
        (b"", ".jpg", "ends with .jpg; .csv"),
    ],
)
def test_what_is_no_raster_is_refused_in_words(content, suffix, said):
    with pytest.raises(ValueError, match=said):
        read_classes(content, suffix)


def test_a_config_has_the_areas_at_their_places_below_its_own_regions(tmp_path):
    file = tmp_path / "soils.png"
    file.write_bytes(picture("PNG"))
    raster = f"soil.raster={{file: {file}, cell_m: 0.5, corner_m: [-1, -2], border_m: 0.1, soils: {SOILS}}}"
    region = "soil.regions=[{corners_m: [[0, 0], [1, 0], [1, 1]], stiffness: 5.0e+6}]"
    config = load_config("sim_juno", [raster, region])
    regions = nominal_rig(config).ground.regions
    assert [one.soil.stiffness for one in regions] == [1e5, config.soil.stiffness, 1e9, 1e9, 5e6]
    packed = make_regions(regions, [np.zeros(3)] * len(regions))
    for i, j in ((4, 3), (7, 5), (11, 6), (19, 11), (0, 0)):  # the middle of a cell
        x, y = -1.0 + 0.5 * (i + 0.5), -2.0 + 0.5 * (j + 0.5)
        inside = [one for one in range(4) if share(packed, one, x, y) == 1.0]
        number = classes()[i, j]
        expected = {0: [0, 1] if (i, j) == (7, 5) else [], 2: [0], 3: [0, 2] if i < 15 else [3]}[number]
        assert inside == expected
    file.unlink()  # the effective config has what came of it
    again = tmp_path / "again.yaml"
    again.write_text(config.to_yaml(), encoding="utf-8")
    assert load_config(again).sha256() == config.sha256()
    with pytest.raises(ConfigError, match=r"soil\.raster\.file: .*looked for"):
        load_config("sim_juno", [raster])
    with pytest.raises(ConfigError, match=r"soil\.raster: .*soil\.rut remembered"):
        load_config(again, ["soil.regions=[]", "soil.rut=remembered"])
