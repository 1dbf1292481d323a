"""`hil.identify`: a soil as an object, from a table of tests or from runs."""

from __future__ import annotations

import pytest
import yaml

import hil

# What the soil of sim_drawbar gives under a pressed wheel, to a micrometre.
PRESSED = """load_N,radius_m,width_m,sinkage_m,sinkage_m_sd
50,0.175,0.15,0.001186,0.00002
200,0.175,0.15,0.003601,0.00002
800,0.175,0.15,0.010979,0.00005
"""


@pytest.fixture
def bed(tmp_path):
    path = tmp_path / "bed.csv"
    path.write_text(PRESSED)
    return path


def test_a_soil_is_found_and_put_into_a_config(bed):
    found = hil.identify(tests=bed, find=["stiffness", "exponent"], given={"rebound": 0.2})
    config = hil.load("sim_drawbar")
    assert found.determined
    assert found.soil["stiffness"] == pytest.approx(config.soil.stiffness, rel=0.05)
    assert config.replace({"soil": found.soil}).soil.rebound == 0.2
    assert yaml.safe_load(found.to_yaml())["soil"].keys() == found.soil.keys()
    assert found.to_dataframe().loc["exponent", "value"] == found.soil["exponent"]
    assert "all determined" in repr(found)
    assert found.further_experiments == []


def test_what_the_data_do_not_determine_is_said(bed):
    found = hil.identify(tests=bed, find=["stiffness", "exponent", "rebound"])
    assert not found.determined
    assert "rebound" in " ".join(found.in_words)
    assert found.further_experiments
    assert "rebound" in found._repr_html_()


def test_nothing_to_identify_from_is_a_value_error():
    with pytest.raises(ValueError, match="give folders of runs"):
        hil.identify()
