"""The page of outside contacts: MuJoCo's collision detection gives our contacts on planes, here over a short drive."""

from __future__ import annotations

import pytest


@pytest.fixture
def script(reproducing):
    import outside_contacts

    return outside_contacts


@pytest.mark.soak
def test_contacts_of_mujoco_on_a_slope_give_our_drive(script, monkeypatch, pages):
    scene = script.SCENES["slope of 10 degrees"]._replace(for_s=0.1)
    monkeypatch.setitem(script.SCENES, "slope of 10 degrees", scene)
    monkeypatch.setitem(script.DETECTORS, "Bullet", None)
    ours, *rows = script.rows(["slope of 10 degrees"])
    by_mujoco = [row for row in rows if "MuJoCo" in row]
    assert len(by_mujoco) == 3
    for row in by_mujoco:
        assert row.split("|")[3:5] == ours.split("|")[3:5]
        assert row.endswith("| 0.00 | below 1e-5 | below 1e-5 | below 1e-5 |")
    # rows of an engine that is not there stay as the page has them
    kept = pages["docs/reproduce/outside_contacts.md"].splitlines()
    assert all(row in kept for row in rows if "Bullet" in row)


def test_the_page_has_the_text_of_its_template_and_a_row_for_each_engine(script, pages):
    page = pages["docs/reproduce/outside_contacts.md"]
    before, after = script.PAGE.with_suffix(".txt").read_text().split("{rows}")
    assert page.startswith(before)
    assert page.endswith(after)
    rows = page[len(before) : -len(after)].splitlines()
    assert len(rows) == len(script.SCENES) * (1 + len(script.ways()))
