"""T_c over the angle of every rover that a config can name."""

from __future__ import annotations

import pytest

from hil.analysis.energy import energy_curve, peak_over_masses
from hil.config import load_config
from hil.config.rig import Rig

ANGLES = [float(angle) for angle in range(10, 91, 5)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "peak_deg", "total_kg"),
    [
        ("rcp", 59.0, 142.7),
        ("parametric", 59.0, 142.7),
        ("exomars_like", 71.0, 144.0),  # the thesis's 70 (MacMahon 2016, 5.5)
        ("exomars", None, 179.0),
        ("rocker_bogie", None, 187.0),
    ],
)
def test_each_rover_has_its_own_curve_and_masses(kind, peak_deg, total_kg):
    rig = Rig(load_config("sim_impact", [f"rover.type={kind}"]))
    curve, rows = energy_curve(rig, ANGLES), peak_over_masses(rig)
    if peak_deg is not None:
        assert curve["peak_angle_deg"] == pytest.approx(peak_deg, abs=1.5)
    assert min(curve["energy_J"]) > 0.0
    assert max(curve["energy_J"]) < 0.5 * total_kg * 0.07**2  # the whole kinetic energy
    assert rows[0].total_kg == pytest.approx(total_kg, abs=0.5)
    assert rows[0].peak_energy_J == pytest.approx(max(curve["energy_J"]), rel=0.02)  # between two angles


def test_only_masses_that_a_rover_has_are_varied():
    rows = peak_over_masses(Rig(load_config("sim_impact", ["rover.type=rocker_bogie"])))
    kinds = {row.masses.split()[0] for row in rows}
    assert kinds == {"as", "body", "wheels", "rockers", "bogies"}
    heavier = [row.total_kg for row in rows if row.masses.startswith("rockers")]
    assert heavier == pytest.approx([187.0 - 8.0, 187.0, 187.0 + 16.0], abs=0.5)
