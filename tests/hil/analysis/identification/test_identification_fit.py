"""A known soil is found again, within the intervals that are stated; what the data cannot tell is said."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.analysis.identification.fit import identify, spread_along
from hil.analysis.identification.forward import (
    USUAL,
    ForwardModel,
    IdentificationError,
    MeasuredMean,
    SharedErrors,
    WheelSize,
    Window,
    soil_of,
    wheel_state,
)
from hil.analysis.identification.printed_result import in_words, proposals, warnings_of, yaml_section

TRUTH = {
    "stiffness": 1.58e5, "exponent": 0.501, "rebound": 0.0813, "slip_modulus": 0.819, "friction_angle_deg": 30.0,
    "cohesion_Pa": 0.0,
}  # fmt: skip
PETERSEN = {**TRUTH, "stiffness": 2.5e5, "exponent": 0.5, "rebound": 0.15, "slip_modulus": 0.5}
WHEEL = WheelSize(0.28, 0.25)
SD = {"pull_N": 2.0, "torque_Nm": 1.0, "sinkage_m": 5e-4}
BENCH = SharedErrors("bed", pull_gain=0.01, pull_zero_N=2.0, torque_gain=0.02, load_gain=0.01)


def window(load, slip, *measured, bench=BENCH):
    values = {name: MeasuredMean(1.0, SD[name]) for name in measured}
    spread = () if slip is None else (0.004,) * len(load)
    return Window(
        f"{load} {slip}", WHEEL, load, None if slip is None else (slip,) * len(load), spread, bench=bench, **values
    )


def drives(slips, *measured):
    return [window((780.0,) * 4, slip, *measured) for slip in slips]


def pressed(*loads):
    return [window((load,), None, "sinkage_m") for load in loads]


def bed():
    """One wheel at three loads and slips."""
    return [window((load,), slip, *SD) for load in (400.0, 780.0, 1200.0) for slip in (0.1, 0.3, 0.7)]


def with_values(windows, seed=None, ground_truth=TRUTH):
    """What a known soil gives, with errors by their covariance."""
    forward, soil = ForwardModel(windows), soil_of(ground_truth)
    values = forward.predict(soil)
    if seed is not None:
        factor = np.linalg.cholesky(forward.covariance(soil))
        values = values + factor @ np.random.default_rng(seed).standard_normal(len(values))
    found = [{} for _ in windows]
    for (place, name), value, sd in zip(forward.names, values.tolist(), forward.sd.tolist(), strict=True):
        found[place][name] = MeasuredMean(value, sd)
    return [one.measuring(measured) for one, measured in zip(windows, found, strict=True)]


@pytest.mark.slow
def test_a_known_soil_is_found_from_values_without_errors():
    found = identify(with_values(bed()), PETERSEN)
    assert found.determined
    assert found.reduced_chi_squared == pytest.approx(0.0, abs=0.05)
    for one in found.parameters:
        assert one.value == pytest.approx(TRUTH[one.name], rel=0.01)
        assert one.low < TRUTH[one.name] < one.high


@pytest.mark.slow
def test_the_intervals_hold_the_truth_as_often_as_they_say():
    seeds = 30
    inside = dict.fromkeys(USUAL, 0)
    for seed in range(seeds):
        for one in identify(with_values(bed(), seed), TRUTH, starts=()).parameters:
            inside[one.name] += one.low <= TRUTH[one.name] <= one.high
    # 95 % of 120 are 114; below 106 would come by chance once in a thousand, were the four independent
    assert sum(inside.values()) >= 106
    assert min(inside.values()) >= 24


@pytest.mark.slow
def test_wider_errors_give_wider_intervals_and_shared_ones_are_not_averaged_away():
    exact, shared = SharedErrors("exact"), SharedErrors("shared", pull_gain=0.05, torque_gain=0.05)
    few = [replace(one, bench=exact) for one in drives((0.1, 0.3, 0.6), "pull_N", "torque_Nm")]
    many = [replace(one, name=f"{one.name} {i}") for i in range(20) for one in few]
    widths = {}
    for name, bench in (("exact", exact), ("shared", shared)):
        for count, windows in (("few", few), ("many", many)):
            own = with_values([replace(one, bench=bench) for one in windows])
            (found,) = identify(own, TRUTH, ["slip_modulus"]).parameters
            widths[name, count] = found.high - found.low
    assert widths["exact", "many"] < 0.3 * widths["exact", "few"]
    assert widths["shared", "few"] > widths["exact", "few"]
    assert widths["shared", "many"] > 1.4 * widths["exact", "many"]


def test_the_slip_modulus_of_a_soil_whose_shear_stress_peaks_is_found_by_its_law_and_no_other():
    sheared = {law: replace(WHEEL, shear=law, shear_residual=0.5) for law in ("oida", "wong")}
    own = with_values([replace(one, wheel=sheared["oida"]) for one in drives((0.1, 0.3, 0.6, 0.9), "torque_Nm")])
    start = {**TRUTH, "slip_modulus": 0.5}
    found = identify(own, start, ["slip_modulus"])
    assert found.values["slip_modulus"] == pytest.approx(TRUTH["slip_modulus"], rel=1e-3)
    assert found.widened == 1.0
    assert "shear: oida" in yaml_section(found)
    assert "shear_residual: 0.5" in yaml_section(found)
    level = identify([replace(one, wheel=WHEEL) for one in own], start, ["slip_modulus"])
    assert level.values["slip_modulus"] != pytest.approx(TRUTH["slip_modulus"], rel=0.05)
    assert "shear" not in yaml_section(level)


def test_one_drive_tells_two_of_four_and_a_sinkage_test_is_proposed():
    found = identify(with_values(drives((0.5,), "pull_N", "torque_Nm")), TRUTH)
    assert [one.determined for one in found.directions] == [True, True, False, False]
    assert [one.name for one in found.parameters if one.determined] == ["slip_modulus"]
    texts = in_words(found)
    assert len(texts) == 2
    assert all("cannot be parted" in text or "cannot be determined" in text for text in texts)
    assert "stiffness" in " ".join(texts)
    assert "sinkage test" in proposals(found)[0]


def test_where_pull_alone_is_measured_at_one_slip_another_slip_is_proposed():
    known = ["stiffness", "slip_modulus"]
    found = identify(with_values(drives((0.5,), "pull_N")), TRUTH, known)
    (text,) = in_words(found)
    assert "stiffness and slip_modulus cannot be parted" in text
    assert any(text.startswith("drive once more") for text in proposals(found))


def test_the_proposed_experiments_tell_what_was_not_told():
    before = drives((0.1, 0.3, 0.6), "pull_N", "torque_Nm")
    assert not identify(with_values(before), TRUTH).determined
    after = identify(with_values([*before, *pressed(200.0, 400.0, 800.0, 1600.0)]), TRUTH)
    assert after.determined
    assert proposals(after) == []
    assert in_words(after)[0].startswith("The data tell all of stiffness")


def test_nothing_depends_on_a_parameter_only_where_twice_of_it_changes_nothing():
    """Whatever the uncertainties and the misfit are: both widen the interval, and change no slope."""
    vague = [replace(one, sinkage_m=MeasuredMean(1.0, 0.25)) for one in pressed(200.0, 800.0)]
    off = [
        replace(w, sinkage_m=MeasuredMean(0.02 * (1 + 9 * (i % 2)), 1e-5)) for i, w in enumerate(pressed(*[300.0] * 4))
    ]
    for windows in (with_values(vague), off):
        found = identify(windows, TRUTH, ["stiffness", "rebound"], starts=())
        for one, text in zip([d for d in found.directions if not d.determined], in_words(found), strict=True):
            (name,) = (key for key, weight in one.weights.items() if abs(weight) > 0.9)
            doubled = {**found.values, name: 2.0 * found.values[name]}
            moved = ForwardModel(windows).predict(soil_of(doubled)) - ForwardModel(windows).predict(
                soil_of(found.values)
            )
            assert text.startswith(f"{name} cannot be determined: ")
            assert ("nothing that was measured depends on it" in text) == (not moved.any()) == (name == "rebound")
    assert "slip sinkage" in " ".join(warnings_of(found))


def test_what_is_not_told_stays_near_the_start():
    found = identify(with_values(pressed(200.0, 800.0)), {**TRUTH, "rebound": 0.3, "slip_modulus": 0.2})
    assert found.values["rebound"] == pytest.approx(0.3, rel=1e-3)
    assert found.values["slip_modulus"] == pytest.approx(0.2, rel=1e-3)
    assert not any(one.determined for one in found.parameters if one.name in ("rebound", "slip_modulus"))


@pytest.mark.slow
def test_rebound_never_leaves_its_range():
    """Of a soil that gives back as much as it can, with errors that ask for more."""
    for seed in range(3):
        windows = with_values(bed(), seed, {**TRUTH, "rebound": 1.0})
        one = identify(windows, PETERSEN, ["rebound"]).parameters[0]
        assert 0.0 < one.low <= one.value <= 1.0
        assert one.high <= 1.0


def test_friction_angle_and_cohesion_are_found_where_they_are_asked_for():
    ground_truth = {**TRUTH, "cohesion_Pa": 800.0, "friction_angle_deg": 26.0}
    names = ["slip_modulus", "friction_angle_deg", "cohesion_Pa"]
    found = identify(
        with_values(bed(), ground_truth=ground_truth),
        {**ground_truth, "cohesion_Pa": 0.0, "friction_angle_deg": 33.0},
        names,
    )
    assert found.values["friction_angle_deg"] == pytest.approx(26.0, rel=0.02)
    assert found.values["cohesion_Pa"] == pytest.approx(800.0, rel=0.1)


@pytest.mark.slow
def test_data_that_no_soil_gives_widen_the_intervals():
    windows = with_values(bed())
    wrong = [
        replace(one, torque_Nm=MeasuredMean(one.torque_Nm.value * (1.3 if i % 2 else 0.8), 0.1), bench=SharedErrors())
        for i, one in enumerate(windows)
    ]
    found = identify(wrong, TRUTH)
    assert found.widened > 3.0
    assert found.reduced_chi_squared == pytest.approx(found.widened**2)


def test_a_turning_wheel_bears_its_load_at_the_depth_that_is_found():
    soil = soil_of(TRUTH)
    loads, slips = np.array([50.0, 780.0, 3000.0, 0.0]), np.array([0.05, 0.3, 0.9, 0.2])
    pull, torque, depth = wheel_state(WHEEL, soil, loads, slips)
    forces = WHEEL.on(soil).forces(depth, slips)
    assert forces.vertical == pytest.approx(loads, rel=1e-8)
    assert forces.longitudinal == pytest.approx(pull)
    assert forces.torque == pytest.approx(torque)
    assert (pull[3], torque[3], depth[3]) == (0.0, 0.0, 0.0)


def test_a_pressed_wheel_is_borne_by_both_halves_of_its_contact():
    """Petersen 2012 (3.4): k V_h; more than a turning wheel has at the same depth, whose rear half has relaxed."""
    soil, load = soil_of(TRUTH), 780.0
    (depth,) = ForwardModel(pressed(load)).predict(soil)
    assert soil.stiffness * WHEEL.on(soil).hypervolume(depth) == pytest.approx(load, rel=1e-8)
    assert depth < wheel_state(WHEEL, soil, np.array([load]), np.array([0.2]))[2][0]


def test_a_slope_takes_its_part_of_the_pull():
    level = drives((0.3,), "pull_N")
    up = [replace(one, along_N=100.0) for one in level]
    soil = soil_of(TRUTH)
    assert ForwardModel(level).predict(soil)[0] - ForwardModel(up).predict(soil)[0] == pytest.approx(100.0)


def test_spreads_along_singular_vectors_are_those_of_the_covariance():
    slopes = np.array([[3.0, 1.0], [0.5, 2.0], [1.0, 1.0]])
    sd, vectors = spread_along(slopes)
    assert (vectors.T * sd**2) @ vectors == pytest.approx(np.linalg.inv(slopes.T @ slopes))
    assert spread_along(slopes[:1])[0][1] == math.inf


@pytest.mark.parametrize(
    ("names", "message"), [([], "none"), (["k"], "allowed: one or more of stiffness"), (["exponent"] * 2, "each once")]
)
def test_parameters_that_cannot_be_found_are_refused(names, message):
    with pytest.raises(IdentificationError, match=message):
        identify(with_values(pressed(300.0)), TRUTH, names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"load_N": (math.nan,)}, "not a number"),
        ({"load_N": (-1.0,)}, "at least 0 N"),
        ({"load_N": (0.0,)}, "at least 0 N"),
        ({"slip": (0.1, 0.2)}, "each wheel has both"),
        ({"slip": (1.5,)}, "-1 to 1"),
        ({"slip": None}, "without a slip"),
        ({"pull_N": None}, "one of them is needed"),
    ],
)
def test_a_window_that_says_too_little_is_refused(changes, message):
    whole = {"load_N": (100.0,), "slip": (0.1,), "pull_N": MeasuredMean(1.0, 1.0)}
    with pytest.raises(IdentificationError, match=message):
        Window("one", WHEEL, **{**whole, **changes})


@pytest.mark.parametrize(("value", "sd"), [(math.nan, 1.0), (1.0, 0.0), (1.0, -1.0), (1.0, math.nan)])
def test_a_value_without_an_uncertainty_is_refused(value, sd):
    with pytest.raises(IdentificationError, match="standard deviation above 0"):
        MeasuredMean(value, sd)


def test_no_windows_are_refused():
    with pytest.raises(IdentificationError, match="hil drawbar"):
        identify([], TRUTH)
