"""What is long stays in its file, reads as an array does, and is read no more than a block at a time."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from hil.recording import content
from hil.recording.content import StoredRows, between, first_rows, in_blocks, stored

ROWS = 1050
BLOCK = 100
KIND = np.dtype([("tick", "<i8"), ("t_ns", "<i8"), ("safe", "?"), ("slip", "<f8", (4,))])


@pytest.fixture(autouse=True)
def _small_blocks(small_blocks) -> None:
    small_blocks(BLOCK)


@pytest.fixture
def array():
    rows = np.zeros(ROWS, KIND)
    rows["tick"], rows["t_ns"] = np.arange(1, ROWS + 1), 1_000_000 * np.arange(1, ROWS + 1)
    rows["safe"], rows["slip"] = rows["tick"] % 7 == 0, np.random.default_rng(1).normal(size=(ROWS, 4))
    return rows


@pytest.fixture
def file(array, tmp_path):
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file.create_dataset("rows", data=array, chunks=(32,), compression="gzip", shuffle=True)
        file.create_dataset("raw", data=array["slip"], chunks=(32, 4))
        yield file


KEYS = {
    "a field": "slip", "fields": ["tick", "safe"], "a row": 7, "the last row": -1, "the first": slice(0, 5),
    "a part": slice(95, 205), "the end": slice(-3, None), "past the end": slice(1000, 2000), "none": slice(9, 3),
    "every tenth": slice(None, None, 10), "every third of a part": slice(50, 333, 3), "all": slice(None),
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_rows_in_a_file_are_chosen_as_those_of_an_array(file, array, key):
    found = StoredRows(file["rows"], ROWS)[key]
    wanted = array[key]
    if isinstance(key, list):
        assert all((found[name] == wanted[name]).all() for name in key)
        assert found.dtype.names == tuple(key)
    else:
        np.testing.assert_array_equal(found, wanted)


def test_rows_are_chosen_by_a_mask_and_columns_of_numbers_by_two_keys(file, array):
    rows, raw = StoredRows(file["rows"], ROWS), StoredRows(file["raw"], ROWS)
    np.testing.assert_array_equal(rows[rows["safe"]], array[array["safe"]])
    np.testing.assert_array_equal(raw[:, 2], array["slip"][:, 2])
    np.testing.assert_array_equal(2.0 * raw - 1.0, 2.0 * array["slip"] - 1.0)
    assert (len(raw), raw.size, raw.shape, raw.dtype) == (ROWS, 4 * ROWS, (ROWS, 4), np.float64)


@pytest.mark.parametrize("count", [0, 1, BLOCK, BLOCK + 1, ROWS])
def test_blocks_of_a_file_are_those_of_an_array_and_never_longer_than_a_block(file, array, count):
    in_file, in_memory = ([*in_blocks(rows)] for rows in (stored(file["rows"], count), array[:count]))
    assert [len(block) for block in in_file] == [len(block) for block in in_memory]
    assert max(map(len, in_file)) <= BLOCK
    np.testing.assert_array_equal(np.concatenate(in_file), array[:count])


def test_what_is_no_longer_than_a_block_is_an_array(file):
    assert isinstance(stored(file["rows"], BLOCK), np.ndarray)
    assert isinstance(stored(file["rows"], BLOCK + 1), StoredRows)
    assert len(first_rows(stored(file["rows"], ROWS), 250)) == 250


@pytest.mark.parametrize("span", [(0, 10**12), (5_000_000, 7_500_000), (1_050_000_001, 10**12), (-5, 0)])
def test_rows_between_two_times_are_found_without_reading_them_all(file, array, span, slices_read):
    rows = between(StoredRows(file["rows"], ROWS), *span, "t_ns")
    assert max(length for _, length in slices_read) == 1
    assert len(slices_read) < 30
    inside = (array["t_ns"] >= span[0]) & (array["t_ns"] <= span[1])
    np.testing.assert_array_equal(array[rows], array[inside])


@pytest.mark.parametrize("lacking", [0, 1, BLOCK, 3 * BLOCK + 7, ROWS - 1, ROWS])
def test_rows_without_content_are_left_out_wherever_they_begin(file, array, lacking):
    array[ROWS - lacking :] = 0
    file["rows"][...] = array
    # the first row of a record counts even where nothing is known of it
    assert content._whole(file["rows"], "tick") == max(ROWS - lacking, 1)
