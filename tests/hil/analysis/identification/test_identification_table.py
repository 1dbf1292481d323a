"""A table of tests is read row by row, and refused with its line where a row says too little."""

from __future__ import annotations

import pytest

from hil.analysis.identification.forward import IdentificationError, MeasuredMean, WheelSize
from hil.analysis.identification.sources import windows_of_table

WHEEL = WheelSize(0.28, 0.25)


@pytest.fixture
def read(tmp_path):
    def read(text, wheel=WHEEL):
        path = tmp_path / "bed.csv"
        path.write_text(text)
        return windows_of_table(path, wheel)

    return read


def test_rows_are_sinkage_tests_and_turning_wheels(read):
    pressed, turning = read(
        "# our bed\nload_N,slip,slip_sd,pull_N,pull_N_sd,sinkage_m,sinkage_m_sd\n"
        "400,,,,,0.015,0.0005\n\n780,0.2,0.004,-5.5,2,,\n"
    )
    assert (pressed.slip, pressed.sinkage_m, pressed.wheel) == (None, MeasuredMean(0.015, 0.0005), WHEEL)
    assert (turning.slip, turning.slip_sd, turning.pull_N) == ((0.2,), (0.004,), MeasuredMean(-5.5, 2.0))
    assert turning.name == "bed.csv, line 5"


def test_a_wheel_of_its_own_is_that_of_the_row(read):
    (one,) = read("radius_m,width_m,load_N,sinkage_m,sinkage_m_sd\n0.1,0.08,50,0.01,0.001\n", None)
    assert one.wheel == WheelSize(0.1, 0.08)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "columns none"),
        ("load_N,pull\n1,2\n", "columns load_N, pull"),
        ("slip\n0.1\n", "load_N among them"),
        ("load_N\n", "no rows"),
        ("load_N,sinkage_m\n1,0.1,3\n", "line 2 has 3 cells"),
        ("load_N,sinkage_m\n1,nan\n", "sinkage_m is 'nan'"),
        ("load_N,sinkage_m\n1,deep\n", "sinkage_m is 'deep'"),
        ("load_N,sinkage_m\n1,0.1\n", "without sinkage_m_sd"),
        ("load_N,sinkage_m,sinkage_m_sd\n1,0.1,0\n", "sinkage_m_sd is 0"),
        ("load_N,sinkage_m,sinkage_m_sd\n,0.1,0.1\n", "load_N is empty"),
        (
            "load_N,sinkage_m,sinkage_m_sd\n1,7.1,0.1\n",
            r"line 2: sinkage_m is 7.1, allowed: below .* in mm, write 0.0071",
        ),
        (
            "load_N,sinkage_m,sinkage_m_sd\n1,0.01,0.5\n",
            r"sinkage_m_sd is 0.5, allowed: .* if it is in mm, write 0.0005",
        ),
        ("load_N,sinkage_m,sinkage_m_sd\n1,7,0.1\n1,0.1,0.1\n1,9,0.1\n", r"line 2: [^\n]*\n.*line 4: sinkage_m is 9,"),
        ("radius_m,width_m,load_N,slip\n280,0.2,100,0.1\n", r"radius_m is 280, allowed: .* if it is in mm, write 0.28"),
        ("radius_m,width_m,load_N,slip\n0.2,0,100,0.1\n", r"width_m is 0, allowed: above 0 and up to 5 m$"),
        ("load_N,slip\n100,0.1\n", "one of them is needed"),
        ("load_N,pull_N,pull_N_sd\n100,5,1\n", "without a slip"),
    ],
)
def test_a_table_that_says_too_little_is_refused(read, text, message):
    with pytest.raises(IdentificationError, match=message):
        read(text)


def test_a_table_without_a_wheel_needs_runs(read):
    with pytest.raises(IdentificationError, match="radius_m and width_m"):
        read("load_N,sinkage_m,sinkage_m_sd\n1,0.1,0.1\n", None)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(IdentificationError, match=r"none\.csv cannot be read"):
        windows_of_table(tmp_path / "none.csv")
