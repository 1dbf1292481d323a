"""Settling is computed once for the same numbers, and once again for any other."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.vehicle import settling

pytestmark = pytest.mark.slow

CASES = {
    "soil": (),
    "ruts": ("soil.rut=remembered",),
    "firm ground": ("ground.kind=firm",),
    "rigid ground": ("ground.kind=rigid",),
    "a slope": ("experiment=drive", "ground.pitch_deg=10"),
    "grousers": ("wheel.grousers=12",),
    "a drawbar": ("experiment=drive", "rover.drawbar.pull_N=50"),
}


@pytest.fixture
def runs(monkeypatch):
    """Settlings that were computed; nothing is remembered from before."""
    monkeypatch.setattr(settling, "_settled", {})
    steps, run_bound = [], settling.run_bound

    def counted(scene, count, dt):
        steps.append(count)
        run_bound(scene, count, dt)

    monkeypatch.setattr(settling, "run_bound", counted)
    return steps


def settled(*settings):
    _, vehicle, state = nominal_rig(load_config("sim_impact", settings)).build()
    return list(settling._arrays((vehicle, state)))


@pytest.mark.ci_cases("soil", "a slope")
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_a_rover_settled_again_is_the_same_to_the_last_bit_and_is_not_computed_again(runs, settings):
    first = [array.copy() for array in settled(*settings)]
    computed = len(runs)
    for array in settled(*settings):
        array[...] = 1  # what a run changes does not reach the next one
    again = settled(*settings)
    assert len(runs) == computed > 0
    assert [array.tobytes() for array in again] == [array.tobytes() for array in first]


@pytest.mark.parametrize(
    "change", ["rover.body_mass_kg=61", "soil.exponent=0.8", "ground.kind=rigid", "trial.angle_deg=61"]
)
def test_a_rig_with_another_number_settles_anew(runs, change):
    before = [array.copy() for array in settled()]
    after = settled(change)
    assert len(runs) == 2
    runs.clear()
    settling._settled.clear()
    fresh = settled(change)
    assert len(runs) == 1
    assert [array.tobytes() for array in after] == [array.tobytes() for array in fresh]
    if "angle" not in change:
        assert any(one.tobytes() != other.tobytes() for one, other in zip(before, after, strict=False))


def test_only_the_newest_few_are_kept(runs):
    for number in range(settling.KEPT + 3):
        settled(f"rover.body_mass_kg={60 + number}")
    assert len(settling._settled) == settling.KEPT
    settled(f"rover.body_mass_kg={60 + settling.KEPT + 2}")
    assert len(runs) == settling.KEPT + 3
    settled("rover.body_mass_kg=60")
    assert len(runs) == settling.KEPT + 4
    assert np.isfinite(settled()[0]).all()
