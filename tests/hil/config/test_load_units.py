"""Load channels whose driver reads newtons: the same loads as of volts, and no volts anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.ni.section import NiLoadsSection
from hil.config import ConfigError, load_config
from hil.config.device_parameters import load_sensors
from hil.config.rig_setup import full_scales, links_gain, noises, normal_force_rows, offsets, rig_setup
from hil.messages.signals import raw_signals

LOADS = "loads={leg_sensors: {axes: [fz, mx], force_N: 2000, moment_Nm: 80}, load_cell: {force_N: 500}}"
TYPE = "rover.type=juno"


@pytest.fixture
def made(monkeypatch):
    """Config of a Juno whose load channels are read in V or in N, with further settings."""

    def make(reads, *settings):
        monkeypatch.setattr(NiLoadsSection, "reads", property(lambda _: reads))
        wheels = ("front_left", "front_right", "rear_left", "rear_right")
        names = [*(f"{wheel}_{axis}" for wheel in wheels for axis in ("fz", "mx")), "pull"]
        inputs = ", ".join(f"{{channel: {name}, input: cDAQ1Mod6/ai{at}}}" for at, name in enumerate(names))
        device = f"devices.loads={{driver: ni, inputs: [{inputs}]}}"
        return load_config("sim_juno", [LOADS, device, *settings])

    return make


def test_the_driver_is_told_unit_and_full_scale_of_each_channel(made):
    cells = rig_setup(made("N")).loads.cells
    assert [(cell.unit, cell.full_scale) for cell in cells[:2]] == [("N", 2000.0), ("N m", 80.0)]
    assert cells[-1] == ("pull", "N", 500.0)
    assert {cell[1:] for cell in rig_setup(made("V")).loads.cells} == {("V", 10.0)}


def test_readings_are_the_loads_themselves(made):
    config = made("N")
    rows = normal_force_rows(config)
    assert rows[0, :3].tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert rows[-1, -1] == 1.0
    assert full_scales(config).tolist() == [2000.0, 80.0] * 4 + [500.0]


def test_the_simulated_sensors_have_the_same_errors_in_either_unit(made):
    volts, newtons = load_sensors(made("V")), load_sensors(made("N"))
    scale = full_scales(made("N")) / 10.0
    for field in ("noise", "range", "step"):
        np.testing.assert_allclose(getattr(newtons, field), getattr(volts, field) * scale)
    np.testing.assert_allclose(newtons.gain, volts.gain * scale[:, None])
    np.testing.assert_allclose(noises(made("N")), [0.4, 0.016] * 4 + [0.1])


def test_a_calibration_states_its_numbers_for_readings_in_newtons(made):
    sheet = "loads.calibration={pull: {offset_N: 12, load_per_N: [1.02], date: 2026-01-31}}"
    config = made("N", sheet)
    assert offsets(config)[-1] == 12.0
    assert normal_force_rows(config)[-1, -1] == 1.02


@pytest.mark.parametrize(
    ("reads", "sheet", "key", "to_do"),
    [
        ("N", "offset_V: 0.1", "offset_V", "write offset_N"),
        ("N", "load_per_V: [50]", "load_per_V", "write load_per_N"),
        ("V", "offset_N: 3", "offset_N", "write offset_V"),
    ],
)
def test_numbers_for_readings_of_the_other_unit_are_refused_with_the_key_to_write(made, reads, sheet, key, to_do):
    with pytest.raises(ConfigError, match=rf"loads\.calibration\.pull\.{key}: .*{to_do}"):
        made(reads, f"loads.calibration={{pull: {{{sheet}}}}}")


def test_the_names_of_exported_samples_say_their_unit(made):
    assert [name for name, _ in raw_signals("loads", made("N").layout)][:2] == ["raw_N", "raw_Nm"]
    assert {(name, one.unit) for name, one in raw_signals("loads", made("V").layout)} == {("raw_V", "V")}


def test_strain_gauges_give_the_compression_itself(made, monkeypatch):
    monkeypatch.setattr("hil.config.unchecked_config.UncheckedConfig.load_reading", property(lambda _: "N"))
    config = load_config("sim_impact", ["loads={strain_gauges: {force_N: 700}}"])
    assert (links_gain(config), full_scales(config).tolist()) == (1.0, [700.0])
