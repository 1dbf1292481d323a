"""The page of Juno has what its script computes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "reproduce" / "juno.py"
NUMBER = re.compile(r"[-+]?\d+\.?\d*")


@pytest.mark.slow
def test_the_page_of_juno_has_the_numbers_that_its_script_computes(pages):
    there, made = pages["docs/reproduce/juno.md"], runpy.run_path(str(SCRIPT), run_name="imported")["page"]()
    assert NUMBER.sub("#", made) == NUMBER.sub("#", there)
    shown, computed = ([float(number) for number in NUMBER.findall(text)] for text in (there, made))
    assert shown == pytest.approx(computed, rel=0.02, abs=0.02)
