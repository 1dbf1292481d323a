"""The layout of a rig agrees with its rover model."""

from __future__ import annotations

import pytest

from drivers.valve_layout import WAYS
from hil.config import Config, load_config
from hil.messages.layout import SENSORS, Layout, layout_of
from hil.messages.signals import block_dtype, tick_dtype
from models.rover.assembly import SIDE_BOGIES, WHEELS
from models.rover.registry import ROVERS


def rig_of(name):
    """The default rig with a rover."""
    rig = {"name": "default", "rig": "simulated", "experiment": "drive", "rover": {"type": name}}
    return Config.model_validate(rig)


@pytest.mark.parametrize("name", list(ROVERS))
def test_wheels_are_those_of_the_rover_in_its_order(name):
    assert rig_of(name).layout.wheels == ROVERS[name]().build().wheel_names


@pytest.mark.parametrize("name", list(ROVERS))
def test_cylinders_are_as_many_as_the_rover_has_joints_for_and_named_by_them(name):
    layout = rig_of(name).layout
    assert layout.joints == ROVERS[name].cylinder_joints
    assert [f"{cylinder}_bogie" for cylinder in layout.cylinders] == list(layout.joints)


@pytest.mark.parametrize("name", list(ROVERS))
def test_a_cylinder_may_be_on_each_bogie_of_the_rover_and_on_nothing_else(name):
    joints = ROVERS[name]().build().tree_joint_names
    assert sorted(ROVERS[name].bogies()) == sorted(joint for joint in joints if joint.endswith("_bogie"))


def test_cylinders_are_named_by_their_joints_in_the_order_of_the_config():
    layout = layout_of(WHEELS, SENSORS["triangle"], joints=("rear_bogie", "left_bogie"), regulators="each")
    assert (layout.cylinders, layout.joints) == (("rear", "left"), ("rear_bogie", "left_bogie"))
    assert layout.valves == layout.chambers == ("rear_extend", "rear_retract", "left_extend", "left_retract")
    assert layout.regulators == ("rear", "left")


@pytest.mark.parametrize("way", WAYS)
def test_a_cylinder_with_one_way_has_only_that_valve_and_keeps_both_chambers(way):
    layout = layout_of(WHEELS, SENSORS["triangle"], joints=SIDE_BOGIES, ways=way, regulators="common")
    assert layout.valves == (f"left_{way}", f"right_{way}")
    assert layout.regulators == ("supply",)
    place = WAYS.index(way)
    assert layout.valve_layout.by_valve(((1, 2), (3, 4))) == ((1, 2)[place], (3, 4)[place])
    powered = [False, False]
    powered[place] = True
    assert layout.valve_layout.by_cylinder((True, True), without=False) == (tuple(powered), tuple(powered))
    assert tick_dtype(layout)["pressure_Pa"].shape == tick_dtype(layout)["valves"].shape == (2, 2)
    assert Layout.from_json(layout.to_json()) == layout


def test_a_rig_without_cylinders_has_no_valves_and_no_regulators():
    layout = layout_of(WHEELS, SENSORS["triangle"], joints=(), regulators="common")
    assert (layout.cylinders, layout.valves, layout.regulators, layout.links) == ((), (), (), ("daq", "drives"))


def test_a_config_has_the_layout_of_its_rover():
    layout = load_config("sim_juno").layout
    assert layout.wheels == ("front_left", "front_right", "rear_left", "rear_right")
    assert (layout.cylinders, layout.valves, layout.valves_off) == ((), (), ())


def test_equal_layouts_share_one_row_type():
    """A recorder compares the type of each row: the same object takes no time."""
    one, other = layout_of(WHEELS, SENSORS["triangle"]), layout_of(WHEELS, SENSORS["triangle"])
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
