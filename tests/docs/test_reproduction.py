"""The page of the reproduction names every figure it has to, and the quick ones of its numbers hold."""

from __future__ import annotations

import json
import math
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "reproduce"
pytestmark = pytest.mark.usefixtures("reproducing")


@pytest.fixture
def data():
    """docs/reproduce/macmahon.json."""
    return json.loads((FOLDER / "macmahon.json").read_text(encoding="utf-8"))


@pytest.mark.soak
def test_simulated_impacts_and_trials_come_to_what_the_data_file_says(tmp_path, pages, capsys):
    """Points of every figure are computed; the pictures show these only."""
    import macmahon

    assert macmahon.main(["--quick", "--out", str(tmp_path)]) == 0, capsys.readouterr().out
    made = {path.stem: path for path in (tmp_path / "docs" / "images").iterdir()}
    page = pages["docs/reproduce/macmahon.md"]
    there = {path.stem for path in (FOLDER.parent / "images").glob("reproduce_*.png")}
    others = (
        "reproduce_acary",
        "reproduce_climb_",
        "reproduce_cyril",
        "reproduce_dynamic_",
        "reproduce_flexible_",
        "reproduce_soil_measurements",
        "reproduce_terrain",
        "reproduce_walking",
        "reproduce_xu_",
    )
    assert made.keys() == {name for name in there if not name.startswith(others)}
    for name, path in made.items():
        assert f"../images/{name}.png" in page
        assert matplotlib.image.imread(path)[..., :3].std() > 0.01, f"{name} is empty"


@pytest.mark.soak
def test_the_flexible_wheel_comes_to_what_its_page_says(tmp_path, pages):
    """Three slips in place of seven; rows of both are the same to the last digit but one."""
    from petersen_flexible_wheel import PAGE, main

    assert main(["--quick", "--out", str(tmp_path)]) == 0
    made = {path.stem: path for path in (tmp_path / "docs" / "images").iterdir()}
    assert made.keys() == {path.stem for path in (FOLDER.parent / "images").glob("reproduce_flexible_*.png")}
    for name, path in made.items():
        assert f"../images/{name}.png" in pages[PAGE]
        assert matplotlib.image.imread(path)[..., :3].std() > 0.01, f"{name} is empty"
    rows = [line for line in (tmp_path / PAGE).read_text(encoding="utf-8").splitlines() if line[:3] in ("| 0", "| a")]
    assert len(rows) == 4
    shipped = {line.split("|")[1]: line for line in pages[PAGE].splitlines() if line.startswith("|")}
    for row in rows:
        now, then = ([float(cell) for cell in line.split("|")[2:-1]] for line in (row, shipped[row.split("|")[1]]))
        np.testing.assert_allclose(now, then, atol=0.25)


def test_crowned_wheels_come_to_what_their_page_says(capsys):
    from crowned_wheel import main

    assert main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_obstacles_that_end_come_to_what_their_page_says(capsys):
    from obstacles_that_end import main

    assert main(["--check"]) == 0, capsys.readouterr().out


def test_the_page_is_written_from_the_data_file(data, pages):
    from macmahon import page_of

    assert page_of(data) == pages["docs/reproduce/macmahon.md"]


def test_a_stale_number_of_the_page_is_noticed_and_the_last_digit_of_one_is_not(data):
    from macmahon import differences

    assert differences(data, data, texts=True) == []
    name, (peak, *rest) = next((name, values) for name, values in data["numbers"].items() if values[0])
    moved = {**data, "numbers": {**data["numbers"], name: [1.001 * peak, *rest]}}
    assert [one.partition(": now")[0] for one in differences(moved, data, texts=True)] == [name]
    place, row = next((i, row) for i, row in enumerate(data["rows"]) if "largest force" in row[2])
    for text, stale in ((row[2].replace("largest force 1", "largest force 2"), True), (row[2], False)):
        rows = [[*row[:2], text, *row[3:]] if i == place else one for i, one in enumerate(data["rows"])]
        assert bool(differences({**data, "rows": rows}, data, texts=True)) == stale
    assert differences({**data, "rows": data["rows"][:-1]}, data, texts=True)


@pytest.mark.parametrize(
    ("now", "then", "same"),
    [
        ("17.3 kN", "17.3 kN", True),
        ("17.3 kN", "17.4 kN", True),
        ("17.3 kN", "17.5 kN", False),
        ("2e-15 mended", "1e-15 mended", True),
        ("3e-15 mended", "1e-15 mended", False),
        ("18 kept", "18 left", False),
        ("+0.7 degrees", "-0.7 degrees", False),
        ("1, 2", "1, 2, 3", False),
    ],
)
def test_texts_are_the_same_but_for_the_last_digit_of_their_numbers(now, then, same):
    from macmahon import same_text

    assert same_text(now, then) == same


def test_the_printed_coordinates_are_not_orthogonal_to_the_contacts_and_the_mended_ones_are():
    from two_body import coupling

    for theta, beta in ((-0.4, 0.6), (0.2, 1.2), (2.5, 1.5)):
        assert coupling(theta, beta, printed=True) > 0.5
        assert coupling(theta, beta, printed=False) < 1e-12


def test_a_chassis_on_the_line_of_motion_spends_all_its_energy_and_a_higher_one_less():
    from two_body import share

    shares = [share(math.radians(angle)) for angle in (0, 20, 40, 60)]
    assert shares[0] == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.diff(shares) < 0.0)


def test_a_steel_impact_without_ground_peaks_as_energy_in_the_spring_says():
    """Hertz (5.3) without loss: T_c = 2/5 k d^(5/2) at each of two wheels, F = k d^(3/2)."""
    from trials import config_of, impact, rig_of

    keys = {"trial.angle_deg": 60, "obstacle.restitution": 1.0}
    found = impact("chapter_5", keys)
    stiffness = rig_of(config_of("chapter_5", keys), steel=True).obstacle.stiffness
    depth = (2.5 * found.energy_J / 2.0 / stiffness) ** 0.4
    assert found.peak_N == pytest.approx(2.0 * stiffness * depth**1.5, rel=2e-3)
    assert found.depth_m == pytest.approx(depth, rel=2e-3)


def test_a_force_beside_the_contact_point_changes_nothing_while_the_axle_is_free():
    """Of the peak by Hertz-like contacts; a held axle passes the moment on, and above C the wheel then yields less."""
    from chapter_6 import _mass_at
    from trials import config_of, rig_of

    rover = rig_of(config_of("chapter_6", {}), steel=False).rover.build()
    below, at, above = (_mass_at(rover, math.radians(90.0), z, held=False) for z in (-0.025, 0.0, 0.025))
    assert below == pytest.approx(at, rel=1e-9)
    assert above == pytest.approx(at, rel=1e-9)
    held = [_mass_at(rover, math.radians(90.0), z, held=True) for z in (-0.025, 0.0, 0.025)]
    assert held == sorted(held)
    jacobian = rover.impact_jacobian(rover.neutral(), math.radians(90.0))
    inverse = jacobian @ np.linalg.solve(rover.mass_matrix(rover.neutral()), jacobian.T)
    assert at == pytest.approx(1.0 / inverse[0].sum(), rel=1e-9)


FIGURES = (
    "3-4", "(3.16)", "5-8 a", "5-8 b", "5-8 c", "5-8 d", "5-9 a", "5-9 b", "5-10", "5-12 a", "5-12 b",
    "6.2.2", "6.2.2, sensors", "6.2.2, 6.2.7", "6-10", "6-13, left", "6-15",
    "App. D",
    *(f"6-11, {soil} soil{what}" for soil in ("hard", "soft") for what in ("", ", size", ", trend")), "D.2", "beyond",
)  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES)
def test_the_page_has_a_line_for_each_figure(figure):
    lines = (FOLDER / "macmahon.md").read_text(encoding="utf-8").splitlines()
    (found,) = [line for line in lines if line.startswith(f"| {figure} |")]
    assert found.count("|") == 6


@pytest.mark.soak
def test_xus_rover_comes_to_what_its_page_says(tmp_path, pages, capsys):
    """What each row says holds, and the page has the same rows."""
    from xu import PAGE, PICTURE, main

    assert main(["--quick", "--out", str(tmp_path)]) == 0, capsys.readouterr().out
    assert matplotlib.image.imread(tmp_path / PICTURE)[..., :3].std() > 0.01
    made, shipped = (
        [line.split("|")[1:3] for line in text.splitlines() if line.startswith("|")]
        for text in ((tmp_path / PAGE).read_text(encoding="utf-8"), pages[PAGE])
    )
    assert [row for row in made[:20] if row not in shipped] == []
    assert len([row for row in shipped if "as a rig run" in row[0]]) == 6  # not made here
