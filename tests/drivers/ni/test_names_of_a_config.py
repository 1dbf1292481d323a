"""The simulated chassis has the devices, channels and lines that a config names, in any order and on any device."""

from __future__ import annotations

import pytest

from drivers.host import COMPUTER
from drivers.interfaces import DeviceError
from drivers.ni.simulated.server import NiRigPart
from drivers.sim.server import ServerSetup
from hil.config import load_config
from hil.config.rig_setup import rig_setup

INPUTS = (
    "devices.daq.inputs=[{sensor: top, channel: Dev1/ai4}, {sensor: lower_left, channel: Dev1/ai2},"
    " {sensor: lower_right, channel: cDAQ9Mod3/ai0}]"
)
STOP = "devices.daq.e_stop=Dev1/port0/line7"
VALVES = (
    "devices.valves={driver: ni, server: lab:31763, watchdog_ms: 100, lines: {left_extend: Dev2/port1/line3,"
    " left_retract: Dev2/port1/line0, right_extend: Dev2/port1/line1, right_retract: Dev2/port1/line2}}"
)


@pytest.fixture
def of_config(analog, rams):
    """The chassis of a config, and the config."""

    def made(*settings):
        config = load_config("mars_dome", ["rig=simulated_wire", *settings])
        sections = {section.role: section for section in config.devices.sections()}
        setup = ServerSetup(
            analog, rams, 5.0, lambda *_: None, COMPUTER, sections=sections, rig=rig_setup(config)
        )  # fmt: skip
        return NiRigPart(setup)._chassis

    return made


def test_a_chassis_lists_the_channels_of_its_config(of_config):
    modules = of_config(INPUTS, STOP, VALVES).modules
    assert modules["Dev1"].ai == ("Dev1/ai4", "Dev1/ai2")
    assert modules["Dev1"].di == ("Dev1/port0/line7",)
    assert modules["cDAQ9Mod3"].ai == ("cDAQ9Mod3/ai0",)
    assert "cDAQ9" in modules  # the chassis of that module
    assert "cDAQ1Mod1" not in modules


def test_a_line_of_any_name_switches_the_valve_that_the_config_gives_it(of_config, rams):
    made = of_config(VALVES)
    made._set("Dev2/port1/line3", 1.0)
    made._set("Dev2/port1/line2", 1.0)
    assert list(made.lines) == [f"Dev2/port1/line{number}" for number in (3, 0, 1, 2)]
    assert made.lines["Dev2/port1/line3"]
    assert made.lines["Dev2/port1/line2"]
    watched = made.new_task("watchdog")
    made.watch(watched, "Dev2", 0.1)  # the device of its lines has the watchdog
    assert made.watchdog is not None


def test_the_usual_names_stay_where_the_config_gives_none(of_config):
    modules = of_config().modules
    assert modules["cDAQ1Mod1"].ai[0] == "cDAQ1Mod1/ai0"
    assert modules["cDAQ1Mod4"].di[0] == "cDAQ1Mod4/port0/line0"


def test_all_channels_that_are_missing_are_named_at_once(make_daq):
    daq = make_daq({"physical": "Dev1/ai7"}, section={"e_stop": "Dev1/port0/line5"})
    with pytest.raises(DeviceError, match=r"no channel 'Dev1/ai7'.*no digital input 'Dev1/port0/line5'"):
        daq.open()
