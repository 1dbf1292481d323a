"""What lies where in `trial.h5`. Fixed-size types only: others cannot be read from the file of a killed writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5s
from numpy.typing import NDArray

from hil.messages.layout import SAMPLED, Layout
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import PLAIN, ROWS, block_dtype, signals_of, tick_dtype
from hil.realtime.histogram import BIN_EDGES_NS, bin_counts
from hil.recording.content import NEWEST_FORMAT, TrialRecord
from hil.recording.digests import CONTENT, FORMAT, content_sha256

# In `/meta` of a record that was recovered: the version of the program that did it.
RECOVERED = "recovered_by"
# How a file is made whose rows are all there. The oldest version that knows SWMR, for other people's readers.
PACKED = {"libver": ("v110", "v110")}
# One that grows. A SIGKILL can cut a write short where a page of memory ends, and a piece of HDF5's own data that is
# half old and half new makes the file unreadable: each has to lie within one page.
GROWING = PACKED | {"fs_strategy": "page", "fs_page_size": 4096}
# Byte by byte, shuffled, the rows of a record take a fifth; more effort than 1 gains a twentieth for twice the time.
_COMPRESSION = {"shuffle": True, "compression": "gzip", "compression_opts": 1}
# Rows of a chunk: few while a file grows, as each flush writes the last one again; 50 to 220 kB where it is compressed.
_CHUNKS = {"tick": (128, 512), "timing": (512, 2048), "events": (32, 32)}
_CHUNKS_OF_GROUP = {"blocks": (512, 2048), "raw": (2048, 8192), "t_ns": (4096, 16384)}

Meta = Mapping[str, str | float | int]
Rows = NDArray[np.void]
_TIMES = (TIMING.names or ())[1:]


def _describe(file: h5py.File, layout: Layout) -> None:
    """Units, descriptions and names of elements as attributes: fixed-size text, lists in the order of the fields."""

    def text(names: Iterable[str]) -> Any:
        return np.array([name.encode("ascii") for name in names], "S")

    for path, (description, _) in ROWS.items():
        if path not in file:
            continue
        attributes = file[path].attrs
        described = signals_of(path)
        fields = {name: described[name] for name in file[path].dtype.names}  # what the rig has none of has no field
        attributes["description"] = np.bytes_(description)
        attributes["fields"] = text(fields)
        attributes["units"] = text(field.unit for field in fields.values())
        attributes["descriptions"] = text(field.description for field in fields.values())
        attributes["elements"] = text(",".join(field.names(layout)) for field in fields.values())
    for path, field in PLAIN.items():
        if path not in file:
            continue
        attributes = file[path].attrs
        attributes["description"], attributes["unit"] = np.bytes_(field.description), np.bytes_(field.unit)
        if names := field.names(layout):
            attributes["elements"] = text(names)
        if path == "loads/raw" and layout.reads_loads:
            units = layout.units_of("loads")
            attributes["unit"], attributes["units"] = np.bytes_("N"), text(units)


def create_datasets(
    file: h5py.File, meta: Meta, layout: Layout, rates_hz: Mapping[str, float], *, compressed: bool = False
) -> None:
    """Make the datasets of a record, all but `/meta` empty; without force sensors it has no `/daq`, and so on.

    If `compressed`, rows are appended by whole chunks, each of which is compressed.
    """

    def grows(name: str, dtype: Any, *columns: int) -> Any:
        group, _, part = name.rpartition("/")
        rows = (_CHUNKS_OF_GROUP if group else _CHUNKS)[part][compressed]
        kept_apart = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        kept_apart.set_attr_phase_change(0, 0)  # attributes outside of the header, which each append writes again
        how = {"chunks": (rows, *columns), "maxshape": (None, *columns), "track_times": False, "dcpl": kept_apart}
        return file.create_dataset(name, (0, *columns), dtype, **how, **(_COMPRESSION if compressed else {}))

    grows("tick", tick_dtype(layout))
    timing = grows("timing", TIMING)
    timing.attrs["histogram_fields"] = np.array(_TIMES, "S")
    timing.attrs["histogram_from_ns"] = BIN_EDGES_NS
    timing.attrs["histogram"] = new_histogram()
    grows("events", EVENT)
    for group in SAMPLED:
        if not layout.parts(group):
            continue
        grows(f"{group}/blocks", block_dtype(layout, group))
        raw = grows(f"{group}/raw", "<f8", len(layout.parts(group)))
        raw.attrs["sample_rate_hz"] = float(rates_hz[group])
        grows(f"{group}/t_ns", "<i8")
    _describe(file, layout)
    group = file.create_group("meta")
    for key, value in meta.items():
        data = value.encode() if isinstance(value, str) else value
        kind = "<i8" if isinstance(value, int | np.integer) else "<f8"
        dtype = h5py.string_dtype("utf-8", max(1, len(data))) if isinstance(data, bytes) else kind
        group.create_dataset(key, (), dtype, data=data, track_times=False)
    file.create_dataset(FORMAT, (), "<i8", data=NEWEST_FORMAT, track_times=False)
    file.create_dataset(CONTENT, (), h5py.string_dtype("utf-8", 64), data=b"", track_times=False)


def growing(file: h5py.File) -> list[str]:
    """Names of the datasets of a record that grow."""
    return [*_CHUNKS, *(f"{group}/{part}" for group in SAMPLED if group in file for part in _CHUNKS_OF_GROUP)]


def append(
    dataset: Any,
    rows: NDArray[Any],
    write: Callable[[Callable[[], None]], None] = lambda put: put(),
    kind: Any = None,
) -> None:
    """Append rows to a dataset and make them visible to readers.

    Args:
        dataset: of the record.
        rows: of its dtype.
        write: calls what it is given, and again if that fails and may succeed then (`Reserve.write`).
        kind: the type of the dataset in HDF5, if the rows are known to be just so; it is made of their dtype otherwise,
            which for ticks takes twice as long as writing them.
    """
    place, more = dataset.id, rows.shape[1:]  # h5py's own slices take twice the time
    length = place.shape[0]

    def put() -> None:
        place.set_extent((length + len(rows), *more))
        end = place.get_space()
        end.select_hyperslab((length, *(0 for _ in more)), rows.shape)
        place.write(h5s.create_simple(rows.shape), end, np.ascontiguousarray(rows), kind)
        dataset.flush()

    write(put)


def write_content_digest(file: h5py.File) -> None:
    """The record is whole: have it say the digest of its content. Raises OSError."""
    file[CONTENT][()] = content_sha256(file).encode()


def new_histogram() -> NDArray[np.uint32]:
    """Nothing counted yet: (times of `TIMING`, bins)."""
    return np.zeros((len(_TIMES), len(BIN_EDGES_NS)), "<u4")


def count_times(rows: Rows, histogram: NDArray[np.uint32]) -> None:
    """Count rows of `TIMING` into a histogram."""
    for counts, name in zip(histogram, _TIMES, strict=True):
        bin_counts(rows[name], counts)


def write_whole(path: Path, record: TrialRecord, layout: Layout, rates_hz: Mapping[str, float]) -> None:
    """Write a record that is there as a whole. Raises FileExistsError."""
    with h5py.File(path, "x", **PACKED) as file:
        create_datasets(file, record.meta, layout, rates_hz, compressed=True)
        parts: dict[str, NDArray[Any]] = {"tick": record.tick, "timing": record.timing, "events": record.events}
        for group in SAMPLED:
            parts |= {f"{group}/{name}": rows for name, rows in record.samples(group)._asdict().items()}
        for name, rows in parts.items():
            if name in file:
                append(file[name], rows)
        histogram = new_histogram()
        count_times(record.timing, histogram)
        file["timing"].attrs.modify("histogram", histogram)
        write_content_digest(file)
