"""Sensitivity: derivatives of closed forms, their scatter, Sobol' indices, and what is refused before the first run."""

from __future__ import annotations

import csv
import json
import zlib
from functools import partial

import pytest

from hil.campaign import workers
from hil.campaign.evaluations import EVALUATIONS, StudyStoppedError
from hil.campaign.sensitivity import draw_sensitivity, run_sensitivity, sensitivity_study
from hil.campaign.sweep import UNFINISHED
from hil.config import ConfigError, load_config
from hil.experiments.figure_form import FigureForm

from .conftest import NeverStop, summary_of_job
from .design_runs import ANGLE, MASS, SPEED, STIFFNESS, closed_form, execution

BASE = load_config("sim_impact", {"telemetry.endpoint": "", "ground.kind": "firm"})
FORCE, ENERGY = "contact_force_peak_N", "effective_kinetic_energy_J"
TEXTS = (EVALUATIONS, "sensitivity.csv", "sensitivity.json")


def of_keys(found, result=FORCE):
    return {row["key"]: row for row in found["sensitivities"] if row["result"] == result}


@pytest.mark.slow
def test_derivative_and_elasticity_of_a_closed_form_are_those_of_its_formula(pretend, here, tmp_path):
    pretend(closed_form)
    of = {SPEED: None, MASS: 0.5, STIFFNESS: None}
    found = run_sensitivity(sensitivity_study(BASE, [FORCE, ENERGY], of, {}), execution(tmp_path, here))
    force, energy = of_keys(found), of_keys(found, ENERGY)
    m = 100.0 + BASE.rover.added_mass_kg
    at = BASE.trial.speed_mps * (1e5 * m) ** 0.5
    assert force[SPEED]["derivative"] == pytest.approx(at / BASE.trial.speed_mps, rel=1e-9)
    assert force[SPEED]["elasticity"] == pytest.approx(1.0, rel=1e-9)
    assert energy[SPEED]["elasticity"] == pytest.approx(2.0, rel=1e-9)
    assert force[MASS]["derivative"] == pytest.approx(0.5 * at / m, rel=1e-5)
    assert force[MASS]["elasticity"] == pytest.approx(0.5 * BASE.rover.added_mass_kg / m, rel=1e-5)
    assert energy[MASS]["elasticity"] == pytest.approx(BASE.rover.added_mass_kg / m, rel=1e-9)
    assert force[STIFFNESS]["derivative"] == 0.0
    assert [force[key]["told_from_0"] for key in of] == [True, True, False]
    assert (force[MASS]["low"], force[MASS]["high"]) == (BASE.rover.added_mass_kg - 0.5, BASE.rover.added_mass_kg + 0.5)


@pytest.mark.slow
def test_a_derivative_within_its_scatter_is_not_told_from_0(pretend, here, tmp_path):
    """Noise of one seed falls out of its pair; noise that changes with the value does not."""

    def make(job):
        summary = closed_form(job, noise=50.0)
        return {**summary, "peak_force_N": float(zlib.crc32(job.config.encode()))}

    pretend(make)
    found = run_sensitivity(
        sensitivity_study(BASE, [FORCE, "peak_force_N"], {SPEED: None}, {}), execution(tmp_path, here)
    )
    assert of_keys(found)[SPEED]["told_from_0"] is True
    noisy = of_keys(found, "peak_force_N")[SPEED]
    assert noisy["told_from_0"] is False
    assert abs(noisy["derivative"]) < noisy["derivative_u95"]


def test_one_seed_says_that_the_scatter_is_not_known(pretend, here, tmp_path):
    pretend(closed_form)
    found = run_sensitivity(sensitivity_study(BASE, [FORCE], {SPEED: None}, {}, repeats=1), execution(tmp_path, here))
    row = of_keys(found)[SPEED]
    assert row["derivative_u95"] is row["told_from_0"] is None
    assert found["evaluations"] == 3


def test_a_step_stays_within_the_bounds_of_its_key_and_of_whole_numbers_is_whole():
    base = BASE.replace({ANGLE: 90.0, MASS: 0.0})
    study = sensitivity_study(base, [FORCE], {ANGLE: None, MASS: None, "daq.channels.0.sensitivity_mVpN": None}, {})
    angle, mass, _ = study.parameters
    assert (angle.low, angle.high) == (85.5, 90.0)
    assert (mass.low, mass.high) == (0.0, 25.0)  # of 0 a share is one of the bounds, 0 to 500 kg
    (fifo,) = sensitivity_study(base, [FORCE], {"realtime.fifo_priority": None}, {}).parameters
    assert fifo.whole
    assert (fifo.low, fifo.high) == (fifo.value - round(0.05 * fifo.value), fifo.value + round(0.05 * fifo.value))


def test_runs_that_are_not_accepted_are_left_out_counted_and_said(pretend, here, tmp_path):
    def make(job):
        made = closed_form(job)
        return made if made["seed"] != 3 else {**made, "accepted": False, "reasons": ["veered"]}

    pretend(make)
    found = run_sensitivity(sensitivity_study(BASE, [FORCE], {SPEED: None}, {}), execution(tmp_path, here))
    assert found["not_accepted"] == 3
    assert found["reasons"] == {"veered": 3}
    assert of_keys(found)[SPEED]["pairs"] == 4
    assert of_keys(found)[SPEED]["elasticity"] == pytest.approx(1.0)


@pytest.mark.soak
def test_sobol_indices_of_a_sum_are_the_shares_of_its_variance(pretend, here, tmp_path):
    """sin(a) + 7 sin(b)^2, both arguments uniform over a whole period: variances 1/2 and 49/8."""
    pretend(closed_form)
    ranges = {ANGLE: (40.0, 90.0), SPEED: (0.05, 0.15)}
    study = sensitivity_study(BASE, ["peak_force_N"], {}, ranges, samples=256)
    found = run_sensitivity(study, execution(tmp_path, here))
    rows = of_keys(found, "peak_force_N")
    share = 0.5 / (0.5 + 49.0 / 8.0)
    for key, exact in ((ANGLE, share), (SPEED, 1.0 - share)):
        row = rows[key]
        assert row["first"] == pytest.approx(exact, abs=0.05)
        assert row["total"] == pytest.approx(exact, abs=0.05)
        assert row["first_low"] < exact < row["first_high"]
    assert found["evaluations"] == 1 + 4 * 256


def test_sobol_indices_of_ranges_with_rejected_runs_are_refused(pretend, here, tmp_path):
    pretend(lambda job: closed_form(job) | ({"accepted": False} if '"speed_mps":0.07,' not in job.config else {}))
    study = sensitivity_study(BASE, [FORCE], {}, {SPEED: (0.05, 0.15)}, samples=4)
    with pytest.raises(ConfigError, match="12 of 12 runs without an accepted result"):
        run_sensitivity(study, execution(tmp_path, here))


@pytest.mark.slow
@pytest.mark.parametrize("asked", [({SPEED: None, MASS: None}, {}), ({}, {SPEED: (0.05, 0.15), MASS: (0.0, 30.0)})])
def test_one_that_was_killed_goes_on_and_leaves_the_bytes_of_one_that_ran_through(asked, pretend, here, tmp_path):
    study = sensitivity_study(BASE, [FORCE], *asked, samples=8)
    pretend(closed_form)
    run_sensitivity(study, execution(tmp_path / "whole", here))
    stop = NeverStop()

    def make(job):
        stop.wanted = len(jobs) == 9
        return closed_form(job)

    jobs = pretend(make)
    with pytest.raises(StudyStoppedError):
        run_sensitivity(study, execution(tmp_path / "parts", here, stop=stop))
    assert len((tmp_path / "parts" / EVALUATIONS).read_text().splitlines()) == 1 + 9
    with (tmp_path / "parts" / UNFINISHED).open("a") as file:
        file.write('{"number": 10, "trial.sp')
    jobs = pretend(closed_form)
    found = run_sensitivity(study, execution(tmp_path / "parts", here, resume=True))
    assert len(jobs) == found["evaluations"] - 9
    for name in TEXTS:
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (tmp_path / "parts" / UNFINISHED).exists()


def test_another_study_does_not_go_on_with_the_rows(pretend, here, tmp_path):
    pretend(closed_form)
    stop = NeverStop()
    stop.wanted = True
    with pytest.raises(StudyStoppedError):
        run_sensitivity(sensitivity_study(BASE, [FORCE], {SPEED: None}, {}), execution(tmp_path, here, stop=stop))
    with pytest.raises(ConfigError, match="--of"):
        run_sensitivity(sensitivity_study(BASE, [FORCE], {SPEED: 0.001}, {}), execution(tmp_path, here, resume=True))


def test_all_that_is_wrong_is_said_at_once_before_the_first_run():
    of = {"trial.speed": None, "ground.kind": None, "seed": None, ANGLE: 90.0, "rover.body_com_height_m": None}
    with pytest.raises(ConfigError) as caught:
        sensitivity_study(BASE, ["contact_force_N"], of, {MASS: (5.0, 1.0)}, share=2.0, repeats=0)
    said = str(caught.value)
    for part in (
        "trial.speed: found an unknown key",
        "did you mean speed_mps?",
        "ground.kind: found 'firm'; allowed: a number",
        "seed: found 1; allowed: a number, and not the seed",
        "rover.body_com_height_m: found nothing (null); allowed: a number",
        "rover.added_mass_kg: found 5 to 1; allowed: a range LOW:HIGH that rises",
        "contact_force_N: found no result of impact; did you mean contact_force_peak_N",
        "share: found 2",
        "both or none",
    ):
        assert part in said
    with pytest.raises(ConfigError, match=r"trial.angle_deg: found 5.0; allowed: a number 10 to 90"):
        sensitivity_study(BASE, [FORCE], {}, {ANGLE: (5.0, 60.0)})


def test_a_result_that_a_run_does_not_have_is_refused_after_the_run_of_the_config(pretend, here, tmp_path):
    pretend(summary_of_job)
    with pytest.raises(ConfigError, match="impulse_Ns: found no number in a run of the config"):
        run_sensitivity(sensitivity_study(BASE, ["impulse_Ns"], {SPEED: None}, {}), execution(tmp_path, here))


def test_a_real_rig_is_refused():
    with pytest.raises(ConfigError, match="rig: found real"):
        sensitivity_study(load_config("mars_dome"), [FORCE], {SPEED: None}, {})


@pytest.mark.slow
def test_the_figure_says_simulated_and_of_which_run_it_is(pretend, here, tmp_path):
    pretend(closed_form)
    found = run_sensitivity(
        sensitivity_study(BASE, [FORCE, ENERGY], {SPEED: None, MASS: None}, {}), execution(tmp_path, here)
    )
    texts = " ".join(text.get_text() for text in draw_sensitivity(found, FigureForm(), "my_run").texts)
    assert "SIMULATED rig" in texts
    assert "run my_run" in texts
    assert "seed 1" in texts
    assert (tmp_path / "sensitivity.png").stat().st_size > 10_000
    rows = list(csv.DictReader((tmp_path / "sensitivity.csv").read_text().splitlines()))
    assert [row["key"] for row in rows] == [SPEED, MASS, SPEED, MASS]
    assert json.loads((tmp_path / "sensitivity.json").read_text()) == found


QUICK = {"trial.start_distance_m": 0.03, "trial.ramp_s": 0.1, "trial.settle_s": 0.5, "record.after_s": 0.5}


@pytest.mark.slow
def test_the_simulated_rig_hits_firm_ground_as_theory_says_and_two_processes_leave_the_bytes_of_one(tmp_path):
    """F = sqrt(2 k T_c), T_c of the square of the speed (MacMahon 2016, 5.2): elasticities 1 and 2 over the speed."""
    stiff = {"ground.kind": "rigid", **QUICK}
    study = sensitivity_study(BASE.replace(stiff), [FORCE, ENERGY], {SPEED: None}, {}, repeats=2)
    found = run_sensitivity(study, execution(tmp_path / "one", partial(workers.this_process, (), lambda _: None)))
    run_sensitivity(study, execution(tmp_path / "two", partial(workers.process_pool, 2, (), lambda _: None)))
    assert of_keys(found)[SPEED]["elasticity"] == pytest.approx(1.0, abs=0.05)
    assert of_keys(found, ENERGY)[SPEED]["elasticity"] == pytest.approx(2.0, abs=0.05)
    for name in TEXTS:
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
