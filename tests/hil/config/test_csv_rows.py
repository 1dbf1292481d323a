"""A spreadsheet calculates and runs nothing of what is in a CSV file of ours."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import hil
from hil.config.text_io import write_rows


@pytest.mark.parametrize("begins", "=@+-\t\r\n")
def test_a_text_that_a_spreadsheet_would_calculate_is_written_as_text(begins):
    text, kept = io.StringIO(newline=""), begins.replace("\r", "\n")
    write_rows(text, [[f"{begins}name", -1.5, "-1.5", "-", None], [f"a{begins}=cmd|'/c calc'!A0"]])
    text.seek(0)
    assert list(csv.reader(text)) == [[f"'{kept}name", "-1.5", "-1.5", "-", ""], [f"a{kept}=cmd|'/c calc'!A0"]]


def test_every_csv_file_is_written_by_the_one_writer_that_leaves_no_formula():
    root = Path(hil.__file__).parent
    own = re.compile(r"csv\.(writer|DictWriter)|savetxt\(|to_csv\(")
    writers = {str(file.relative_to(root)) for file in root.rglob("*.py") if own.search(file.read_text())}
    assert writers == {"config/text_io.py"}
