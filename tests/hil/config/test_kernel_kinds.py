"""Configs that need the same kernels are of one kind."""

from __future__ import annotations

import pytest

from hil.config import load_config
from hil.config.rig import kernel_kind, one_of_each_kind


@pytest.mark.parametrize(
    ("override", "same"),
    [
        ("trial.angle_deg=70", True),
        ("seed=5", True),
        ("ground.kind=firm", False),
        ("wheel.grousers=22", False),
        ("rover.payload.mass_kg=3", False),
        ("cylinders.regulators=each", False),
    ],
)
def test_a_config_is_of_another_kind_where_a_choice_a_count_or_a_zero_differs(override, same):
    assert (kernel_kind(load_config("sim_impact")) == kernel_kind(load_config("sim_impact", [override]))) == same


def test_of_each_kind_the_first_config_is_taken():
    configs = [load_config("sim_impact", [f"trial.angle_deg={angle}"]) for angle in (50, 60)]
    firm = load_config("sim_impact", ["ground.kind=firm"])
    assert [rig.config for rig in one_of_each_kind([*configs, firm])] == [configs[0], firm]
