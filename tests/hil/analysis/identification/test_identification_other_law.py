"""`hil identify` on data that its model did not make: another law, slip sinkage, uncertainties that are misstated."""

import math

import numpy as np
import pytest

from hil.analysis.identification.fit import identify
from hil.analysis.identification.forward import USUAL, MeasuredMean, WheelSize, Window, soil_of, wheel_state
from hil.analysis.identification.printed_result import warnings_of
from references.bekker_wong import BekkerWong

WHEEL = WheelSize(0.125, 0.1)
SOIL = {
    "stiffness": 1.2e6, "exponent": 0.9, "rebound": 0.1, "slip_modulus": 0.2, "friction_angle_deg": 30.0,
    "cohesion_Pa": 0.0, "slip_sinkage": 0.0,
}  # fmt: skip
SD = (0.5, 0.05, 3e-4)


def ours(slip_sinkage=0.0):
    soil = soil_of({**SOIL, "slip_sinkage": slip_sinkage})
    return lambda load, slip: [float(x[0]) for x in wheel_state(WHEEL, soil, np.array([load]), np.array([slip]))]


def measured(law, stated=1.0):
    """Eight states with errors of SD, which are said to be `stated` times as large."""
    rng, found = np.random.default_rng(0), []
    for load in (50.0, 100.0):
        for slip in (0.05, 0.2, 0.4, 0.6):
            values = [value + sd * rng.standard_normal() for value, sd in zip(law(load, slip), SD, strict=True)]
            named = zip(("pull_N", "torque_Nm", "sinkage_m"), values, SD, strict=True)
            means = {name: MeasuredMean(value, sd * stated) for name, value, sd in named}
            found.append(Window(f"{load:g} N, {slip:g}", WHEEL, (load,), (slip,), **means))
    return found


def found_in(law, find=USUAL, stated=1.0):
    return identify(measured(law, stated), {**SOIL, "stiffness": 1e6, "exponent": 0.8}, find, starts=())


def holding(found):
    """Names of the parameters whose interval holds the soil's own value."""
    return {one.name for one in found.parameters if one.low <= SOIL[one.name] <= one.high}


def test_data_of_the_bekker_wong_integrals_are_said_not_to_fit_and_the_interval_of_the_pressure_law_holds():
    wheel = BekkerWong(0.125, 0.1, 1.2e6, 0.9, 0.0, math.radians(30.0), 0.01)
    found = found_in(wheel.under)
    assert found.widened > 2.0
    said = " ".join(warnings_of(found))
    assert "does not describe these data" in said
    assert "by another law" in said
    assert "the wheel digs" not in said
    assert {"stiffness", "exponent"} <= holding(found)


def test_a_wheel_that_digs_is_named_as_one_and_its_slip_sinkage_is_found_within_its_interval():
    before = found_in(ours(1.5))
    assert before.widened > 2.0
    assert "--find slip_sinkage" in " ".join(warnings_of(before))
    found = found_in(ours(1.5), (*USUAL, "slip_sinkage"))
    digs = found.parameters[-1]
    assert digs.name == "slip_sinkage"
    assert digs.low <= 1.5 <= digs.high < 1.7
    assert found.widened == 1.0
    assert holding(found) == {*USUAL}
    assert warnings_of(found) == []


@pytest.mark.parametrize(("stated", "said"), [(0.25, "larger than stated"), (4.0, "stated too large")])
def test_uncertainties_that_are_misstated_are_said_to_be_and_the_intervals_hold(stated, said):
    found = found_in(ours(), stated=stated)
    assert said in " ".join(warnings_of(found))
    assert holding(found) == {*USUAL}


def test_errors_that_are_as_large_as_stated_give_no_warning():
    assert warnings_of(found_in(ours())) == []
