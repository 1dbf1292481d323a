"""The corpus of measured wheels, what counts as an error, and `hil validate soil`."""

import json
import math
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import rig_configs
from hil.analysis.identification.forward import soil_of
from hil.analysis.identification.sources import windows_of_table
from hil.analysis.soil_tests import (
    NoSuchTestsError,
    Predicted,
    predictions,
    read_corpus,
    read_plates,
    slip_of,
    validate,
    validate_plates,
)
from hil.cli import run
from models.gravity import GRAVITY_MPS2
from references import wheel_stresses

FOLDER = Path(next(iter(rig_configs.__path__))) / "soil_tests"
CORPUS = read_corpus()


@pytest.mark.parametrize("table", sorted(FOLDER.glob("*.csv")), ids=lambda path: path.stem)
def test_each_table_says_its_source_licence_and_units_and_is_one_of_the_corpus(table):
    said = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert re.search(r"Source: .*(19|20)\d\d.*Licence: \w+.* Units: SI\.", " ".join(said))
    assert CORPUS[table.stem].windows == windows_of_table(table)
    assert CORPUS[table.stem].basis


def test_a_wheel_with_grousers_has_the_size_of_the_smooth_one_beside_it():
    pairs = [(one, CORPUS[one.smooth]) for one in CORPUS.values() if one.smooth]
    assert len(pairs) == 3
    for grousers, smooth in pairs:
        assert grousers.windows[0].wheel.grouser_height_m > 0.0
        assert replace(grousers.windows[0].wheel, grouser_height_m=0.0) == smooth.windows[0].wheel
        assert grousers.soil["stiffness"] == smooth.soil["stiffness"]


def test_errors_are_shares_of_load_and_of_the_measured_sinkage_by_region_of_slip():
    tests = CORPUS["ding_smooth"]
    values = []
    for window in tests.windows:
        off = 0.1 if 0.05 <= slip_of(window) <= 0.4 else 0.3
        pull, torque, sinkage = (one.value for one in window.measured.values())
        values += [pull + off * 80.0, torque - off * 80.0 * 0.15735, sinkage * (1.0 + off)]
    found = Predicted("", "", {}, tuple(values), tests.windows)
    assert found.errors() == pytest.approx({"pull_N": 0.1, "torque_Nm": 0.1, "sinkage_m": 0.1})
    assert found.errors(others=True) == pytest.approx({"pull_N": 0.3, "torque_Nm": 0.3, "sinkage_m": 0.3})


def test_with_bulldozing_a_prediction_has_less_pull_and_the_same_sinkage_and_torque():
    without, with_it = list(islice(predictions(CORPUS["ding_smooth"], CORPUS), 3))[1:]
    assert with_it.variant == f"{without.variant} and bulldozing"
    before, after = np.reshape(without.values, (-1, 3)), np.reshape(with_it.values, (-1, 3))
    depth, root = before[:, 2], math.tan(math.radians(45.0 + 31.9 / 2.0))
    pushed = 0.165 * (2.0 * 250.0 * root * depth + 0.5 * 1600.0 * GRAVITY_MPS2 * root**2 * depth**2)
    assert before[:, 0] - after[:, 0] == pytest.approx(pushed)
    assert after[:, 1:] == pytest.approx(before[:, 1:])


def test_the_traction_of_a_printed_soil_is_the_integral_of_its_law_at_a_slip_of_rovers():
    """Quadrature of the stresses, with the printed shear displacement at each place of the contact."""
    tests = CORPUS["ding_smooth"]
    for found in (first for first in islice(predictions(tests, CORPUS), 4) if "sinkage" not in first.variant):
        wheel = tests.windows[0].wheel.on(replace(soil_of(found.soil), shear_modulus=tests.shear_displacement_m))
        depth = brentq(lambda z, wheel=wheel: wheel.normal_force(z).vertical - 80.0, 1e-4, 0.1)
        exact = wheel_stresses.wheel_forces(wheel.radius, wheel.width, wheel.soil, depth, 0.2)
        assert wheel.forces(depth, 0.2).torque == pytest.approx(exact[2], rel=0.01)


def test_plates_say_their_source_and_the_errors_of_the_laws_are_those_of_their_pressures():
    said = (FOLDER / "plates" / "cmu_sand.csv").read_text(encoding="utf-8")
    assert re.search(r"Source: .*(19|20)\d\d.*Licence: \w+.* Units: SI\.", said.replace("\n# ", " "))
    plates = read_plates()
    assert set(plates[:, 0]) == {0.06, 0.08, 0.1}
    off = [abs(8e6 * depth**1.46 / pressure - 1.0) for diameter, depth, pressure in plates if diameter == 0.06]
    found = validate_plates()
    assert found["k z^n, printed soil"][0.06] == pytest.approx(np.mean(off))
    by_size = next(errors for law, errors in found.items() if "D^m" in law)
    assert max(by_size.values()) < 0.06  # the pressure grows with the plate


def test_tests_that_are_not_in_the_corpus_are_refused_with_those_that_are(capsys):
    with pytest.raises(NoSuchTestsError, match="no tests moon; allowed: cmu_smooth, cmu_grousers"):
        validate(["ding_lugs", "moon"])
    assert run(["validate", "soil", "--source", "moon"]) == 2
    assert "no tests moon" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_prints_json_and_writes_it_with_a_figure(tmp_path, capsys):
    assert run(["validate", "soil", "--source", "rashid_fjs1", "--json", "--out", str(tmp_path / "v")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "v" / "soil_validation.json").read_text(encoding="utf-8"))
    (source,) = printed["sources"]
    assert source["name"] == "rashid_fjs1"
    fitted = source["models"]["fitted, slip sinkage"]
    assert fitted["fitted_on"] == "rashid_fjs1"
    assert len(fitted["points"]) == 10
    assert fitted["errors"]["sinkage_m"] < 0.5 * source["models"]["fitted"]["errors"]["sinkage_m"]
    assert printed["error_pull"] == pytest.approx(source["models"]["printed soil"]["errors"]["pull_N"])
    assert printed["error_torque"] is None
    assert printed["errors"]["fitted"]["sinkage_m"] == source["models"]["fitted"]["errors"]["sinkage_m"]
    assert (tmp_path / "v" / "soil_validation.png").stat().st_size > 10_000
