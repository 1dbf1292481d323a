"""The page of Juno has what its script computes."""

from __future__ import annotations

import re

import pytest

NUMBER = re.compile(r"[-+]?\d+\.?\d*")


@pytest.mark.soak
@pytest.mark.usefixtures("reproducing")
def test_the_page_of_juno_has_the_numbers_that_its_script_computes(pages):
    from juno import page

    there, made = pages["docs/reproduce/juno.md"], page()
    assert NUMBER.sub("#", made) == NUMBER.sub("#", there)
    shown, computed = ([float(number) for number in NUMBER.findall(text)] for text in (there, made))
    assert shown == pytest.approx(computed, rel=0.02, abs=0.02)
