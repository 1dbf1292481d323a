"""A record describes its content: it has the unit, description and names of every field."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import ROWS, block_dtype, tick_dtype
from hil.recording import RecordWriter, read_trial
from hil.recording.sample_writer import write_whole
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"], loads=("front_left_fz", "pull"), load_cell=True)
TICK = tick_dtype(LAYOUT)
BLOCK = block_dtype(LAYOUT)

LOAD_BLOCK = block_dtype(LAYOUT, "loads")
RATES = {"daq": 30_000, "loads": 1000}

DTYPES = {"tick": TICK, "events": EVENT, "timing": TIMING, "daq/blocks": BLOCK, "loads/blocks": LOAD_BLOCK}


@pytest.fixture(params=["recorded", "recovered"])
def record(request, tmp_path):
    """A file as the recorder writes it, and as recovery makes it from a killed run."""
    path = tmp_path / "trial.h5"
    RecordWriter(path, meta={"version": "1"}, layout=LAYOUT, rates_hz=RATES).close()
    if request.param == "recovered":
        path = tmp_path / "whole.h5"
        write_whole(path, read_trial(tmp_path / "trial.h5", trusted=True), LAYOUT, RATES)
    with h5py.File(path, "r") as file:
        yield file


def texts(dataset, name) -> list[str]:
    return [item.decode() for item in dataset.attrs[name].tolist()]


def test_every_field_of_every_compound_dataset_has_a_unit_and_a_description(record):
    compound = []
    record.visititems(
        lambda path, item: compound.append(path) if getattr(item, "dtype", np.dtype("i8")).names else None
    )
    assert set(compound) == set(ROWS)
    for path in compound:
        dataset = record[path]
        assert texts(dataset, "fields") == list(dataset.dtype.names)
        lists = [texts(dataset, name) for name in ("units", "descriptions", "elements")]
        assert [len(each) for each in lists] == [len(dataset.dtype.names)] * 3
        assert all(lists[1])
        assert dataset.attrs["description"]


def test_units_are_those_that_the_names_end_in(record):
    endings = {"_ns": "ns", "_radps": "rad/s", "_Pa": "Pa", "_N": "N", "_m": "m", "_mps": "m/s", "_J": "J", "_s": "s"}
    for path in ROWS:
        for field, unit in zip(texts(record[path], "fields"), texts(record[path], "units"), strict=True):
            expected = [endings[ending] for ending in endings if field.endswith(ending)]
            assert unit == (expected[0] if expected else unit), field


def test_elements_of_arrays_are_named_one_by_one(record):
    for path, dtype in DTYPES.items():
        for field, names in zip(texts(record[path], "fields"), texts(record[path], "elements"), strict=True):
            count = int(np.prod(dtype[field].shape, dtype=int)) if dtype[field].shape else 0
            assert len(names.split(",") if names else []) == count, field
    wheels = dict(zip(texts(record["tick"], "fields"), texts(record["tick"], "elements"), strict=True))["slip"]
    assert tuple(wheels.split(",")) == WHEELS


def test_samples_have_their_unit_and_the_names_of_their_channels(record):
    raw = record["daq/raw"]
    assert (raw.attrs["unit"], record["daq/t_ns"].attrs["unit"]) == (b"V", b"ns")
    assert texts(raw, "elements") == ["top", "lower_left", "lower_right"]


def test_no_attribute_is_of_variable_length(record):
    """It could not be read from the file of a killed writer."""

    def look(_, item):
        for name in item.attrs:
            assert not item.attrs.get_id(name).dtype.hasobject, name

    record.visititems(look)
