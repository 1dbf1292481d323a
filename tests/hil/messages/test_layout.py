"""The layout of a rig agrees with its rover model."""

from __future__ import annotations

import pytest

from hil.config import load_config
from hil.messages.layout import TRIANGLE, layout_of
from hil.messages.schema import block_dtype, tick_dtype
from models.rover.registry import ROVERS


@pytest.mark.parametrize("name", list(ROVERS))
def test_wheels_are_those_of_the_rover_in_its_order(name):
    kind = ROVERS[name]
    rover = kind.build(kind.parameters())
    assert layout_of(name, TRIANGLE).wheels == tuple(rover.wheel_names)


@pytest.mark.parametrize("name", list(ROVERS))
def test_cylinders_are_as_many_as_the_rover_has_joints_for_and_named_by_them(name):
    cylinders = layout_of(name, TRIANGLE).cylinders
    assert [f"{cylinder}_bogie" for cylinder in cylinders] == list(ROVERS[name].cylinder_joints)


def test_a_config_has_the_layout_of_its_rover():
    layout = load_config("sim_juno").layout
    assert layout.wheels == ("front_left", "front_right", "rear_left", "rear_right")
    assert (layout.cylinders, layout.valves, layout.valves_off) == ((), (), ())


def test_equal_layouts_share_one_row_type():
    """A recorder compares the type of each row: the same object takes no time."""
    one, other = layout_of("rcp", TRIANGLE), layout_of("rcp", TRIANGLE)
    assert one is not other
    assert tick_dtype(one) is tick_dtype(other)
    assert block_dtype(one) is block_dtype(other)


def test_what_a_rig_has_none_of_has_no_field():
    layout = load_config("sim_juno").layout
    names = tick_dtype(layout).names
    assert not {"valves", "pressure_Pa", "force_N"} & set(names)
    assert tick_dtype(layout)["slip"].shape == (4,)
    assert layout.links == ("drives",)
    assert load_config("sim_impact").layout.links == ("daq", "drives", "valves")
