"""The energy balance of a vehicle that hits the obstacle closes, term by term, on every ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.plant import Plant
from models.vehicle.ledger import NORMAL

pytestmark = pytest.mark.slow

US = 1_000
CASES = {
    "soil": [],
    "no ground": ["ground.kind=none"],
    "firm": ["ground.kind=firm"],
    "rigid": ["ground.kind=rigid"],
    "legs and grousers": ["obstacle.legs=each", "obstacle.exponent=1.5", "wheel.grousers=22"],
    "rim between grousers": ["wheel.grousers=8", "wheel.grouser_rim=true"],
    "other law, drawbar": ["obstacle.law=gonthier", "obstacle.restitution=0.4", "rover.drawbar.pull_N=20"],
    "friction that holds": ["ground.kind=firm", "ground.friction_holds=true", "obstacle.hold_stiffness_Npm=8e5"],
    "couplings": ["rover.type=rocker_bogie"],
}


def plant_of(overrides, substep_us=100, *, accounts=True) -> Plant:
    config = load_config("sim_impact", ["trial.start_distance_m=0.05", *overrides])
    parameters = replace(nominal_rig(config), piezo=None, substep_ns=substep_us * US)
    return Plant(parameters, np.random.default_rng(1), accounts=accounts)


def trial(plant: Plant, seconds: float = 1.2) -> list:
    """Drive into the obstacle, cut 2 ms after first touch; the energies each ms, of a plant with accounts."""
    wheels = len(plant.rover.wheel_names)
    read = plant.energies if plant._meter else lambda: None
    rows, cut_ns = [read()], None
    for t_ns in range(1_000_000, round(seconds * 1e9), 1_000_000):
        plant.advance(t_ns)
        rows.append(read())
        if cut_ns is None and plant.hit_ns is not None:
            cut_ns = plant.hit_ns + 2_000_000
        cut = cut_ns is not None and t_ns >= cut_ns
        plant.set_drives((0.0 if cut else min(t_ns * 1e-9 / 0.2, 1.0) * 0.4,) * wheels, cut)
    return rows


@pytest.mark.ci_cases("soil")
@pytest.mark.parametrize("overrides", CASES.values(), ids=CASES)
def test_balance_closes_and_its_residue_shrinks_with_the_sub_step(overrides):
    worst, ends = [], []
    for substep_us in (100, 50, 25):
        plant = plant_of(overrides, substep_us)
        rows = trial(plant)
        residue = np.array([row.residue(rows[0]) for row in rows])
        moved = rows[-1].supplied + rows[0].kinetic
        assert plant.contact_force_peak > 50.0
        worst.append(np.abs(residue).max() / moved)
        ends.append(abs(residue[-1]) / moved)
    assert worst[0] < 0.01  # of the energy that went in; what swings back within the contact included
    assert ends[0] < 2e-4
    assert worst[1] == pytest.approx(worst[0] / 2.0, rel=0.1)
    assert worst[2] == pytest.approx(worst[0] / 4.0, rel=0.15)


def test_the_ledger_changes_no_bit_of_the_motion():
    peaks = []
    for accounts in (False, True):
        plant = plant_of([], accounts=accounts)
        trial(plant)
        peaks.append((plant.contact_force_peak, plant.hit_ns, *plant._state.q, *plant._state.v))
    assert peaks[0] == peaks[1]


@pytest.mark.ci_cases("soil")
@pytest.mark.parametrize("overrides", CASES.values(), ids=CASES)
def test_the_work_of_the_plate_is_what_its_contacts_store_and_lose(overrides):
    plant = plant_of(overrides, 25)
    row = trial(plant)[-1]
    assert -plant._meter.ledger.joule[NORMAL] == pytest.approx(row.contact + row.contact_loss, rel=2e-3)
    assert row.contact_loss > 0.0


def test_in_the_middle_of_the_contact_the_plate_stores_the_energy_that_its_force_says():
    """Independent of the ledger: two linear springs of stiffness k that push with F each hold F^2/2k."""
    plant = plant_of(["ground.kind=none", "obstacle.law=hertz"])
    wheels, stored, expected = len(plant.rover.wheel_names), [], []
    stiffness = plant.parameters.obstacle.stiffness
    for t_ns in range(100_000, 850_000_000, 100_000):
        plant.advance(t_ns)
        plant.set_drives((0.0,) * wheels, True)
        stored.append(plant.energies().contact)
        expected.append((plant._state.obstacle.force**2).sum() / (2.0 * stiffness))
    assert max(stored) == pytest.approx(max(expected), rel=1e-3)
    assert max(stored) == pytest.approx(plant.effective_kinetic_energy_when_hit(), rel=0.01)  # T_c, (3.27)


def test_losses_only_ever_grow():
    rows = trial(plant_of([]))
    for name in ("gear", "cut_drives", "contact_loss", "plate_friction", "ground_loss"):
        values = np.array([getattr(row, name) for row in rows])
        assert np.diff(values).min() > -1e-4 * values[-1], name


def test_a_plant_without_accounts_says_so():
    with pytest.raises(ValueError, match="accounts=True"):
        plant_of([], accounts=False).energies()
