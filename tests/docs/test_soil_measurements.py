"""The page of measured wheels on soil: its tables are those of its data file, and the file's numbers come again."""

import json
from itertools import islice

import pytest

from hil.analysis.soil_tests import predictions, read_corpus

CORPUS = read_corpus()
pytestmark = pytest.mark.usefixtures("reproducing")


@pytest.fixture
def numbers(root):
    return json.loads((root / "docs" / "reproduce" / "soil_measurements.json").read_text(encoding="utf-8"))


def same(one, numbers, tolerance):
    then = numbers[one.variant]
    assert one.errors() == pytest.approx(then["used"], abs=tolerance)
    assert one.errors(others=True) == pytest.approx(then["others"], abs=tolerance)


def test_the_tables_are_those_of_the_data_file(capsys):
    from soil_measurements import main

    assert main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", CORPUS)
def test_what_needs_no_fit_comes_again(name, numbers):
    from soil_measurements import bekker_wong, chrono_scm

    for one in (*chrono_scm(CORPUS[name]), bekker_wong(CORPUS[name]), *islice(predictions(CORPUS[name], CORPUS), 4)):
        same(one, numbers[name], 1e-4)


@pytest.mark.soak
def test_the_fits_come_again(numbers):
    for one in predictions(CORPUS["rashid_fjs1"], CORPUS):
        same(one, numbers["rashid_fjs1"], 2e-3)


def test_the_corpus_has_the_slip_sinkage_that_was_found(numbers):
    for name, one in CORPUS.items():
        assert one.slip_sinkage == pytest.approx(numbers[name]["fitted, slip sinkage"]["slip_sinkage"], rel=0.01)


def test_the_new_terms_more_than_halve_the_pulls_error_on_soil_of_the_same_bed_and_are_below_chronos(numbers):
    """As the page says; over all wheels they do not halve it, and KLS-1 governs the sinkage."""
    terms = "printed soil, slip sinkage, rim friction, exponential"
    chrono = "Chrono SCM, printed soil", "Chrono SCM with rim and lugs, printed soil"

    def mean(variant, quantity, wheels):
        return sum(numbers[name][variant]["used"][quantity] for name in wheels) / len(wheels)

    own, every = list(numbers)[:4], list(numbers)
    assert mean(terms, "pull_N", own) < 0.5 * mean("printed soil", "pull_N", own)
    assert 0.5 * mean("printed soil", "sinkage_m", own) < mean(terms, "sinkage_m", own)
    assert mean(terms, "sinkage_m", own) < 0.6 * mean("printed soil", "sinkage_m", own)
    for variant in chrono:
        assert mean(terms, "pull_N", every) < mean(variant, "pull_N", every)
        assert mean(terms, "sinkage_m", own) < 0.5 * mean(variant, "sinkage_m", own)
    assert mean(terms, "pull_N", every) > 0.5 * mean("printed soil", "pull_N", every)


def test_with_slip_sinkage_less_than_half_of_the_sinkages_error_is_left(numbers):
    """As the page says: fitted, at slips that were not fitted, and on wheels that were not."""
    for variant in ("fitted", "half fitted", "from the smooth wheel"):
        errors = [
            [each[name]["used"]["sinkage_m"] for each in numbers.values() if name in each]
            for name in (variant, f"{variant}, slip sinkage")
        ]
        assert sum(errors[1]) < 0.5 * sum(errors[0])
