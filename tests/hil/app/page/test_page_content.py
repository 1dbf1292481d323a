"""What the page draws with: any registered rover, every series of telemetry, and the rows of the fault table."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hil.app.page.content import band, fixed_checks, page_content, series
from hil.campaign.guided import verdict_text
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.layout import Layout
from hil.messages.signals import tick_dtype
from hil.operator.page.operated_rig import Series, TelemetryReceiver
from hil.operator.telemetry import Publisher
from hil.safety.fault_table import FAULT_TABLE
from models.rover.assembly import WHEELS
from models.rover.registry import ROVERS


@pytest.mark.parametrize("kind", sorted(ROVERS))
def test_any_rover_stands_with_its_wheels_on_the_ground(kind):
    config = load_config("sim_impact", ["experiment=drive", f"rover.type={kind}"])
    rover = page_content(Rig(config), None)["rover"]
    assert tuple(wheel["name"] for wheel in rover["wheels"]) == config.layout.wheels
    for wheel in rover["wheels"]:
        assert wheel["z_m"] == pytest.approx(config.rover.wheel_radius_m, abs=0.01)
        assert wheel["radius_m"] == pytest.approx(config.wheel_radius_m)
        assert wheel["width_m"] > 0.0
        assert ("left" in wheel["name"]) == (wheel["y_m"] > 0.0)  # a single wheel is in the middle
    assert all(min(body["size_m"]) >= 0.0 < max(body["size_m"]) for body in rover["bodies"])
    assert {wheel["body"] for wheel in rover["wheels"]} <= {joint["child"] for joint in rover["joints"]}


def test_the_content_is_json_and_has_all_faults_with_what_to_do():
    content = msgspec.json.decode(
        msgspec.json.encode(page_content(Rig(load_config("sim_impact")), {"name": "p", "trials": []}))
    )
    assert {int(number) for number in content["faults"]} == set(FAULT_TABLE)
    assert all(row["operator"] for row in content["faults"].values())
    assert content["obstacle"]["angle_deg"] == 60.0
    assert (content["plan"]["name"], content["states"][:2]) == ("p", ["idle", "armed"])


def test_a_list_of_runs_shows_the_numbers_of_the_verdict_with_the_same_names():
    main = page_content(Rig(load_config("sim_juno")), None)["main_numbers"]["impact"]
    summary = {"accepted": True, "aborted": False, "contact_force_peak_N": 151.7, "peak_force_N": 76.8}
    summary |= {"impact_speed_mps": 0.07, "effective_kinetic_energy_J": 0.2312, "contact_duration_s": 0.161}
    shown = ", ".join(f"{name} {summary[key]:.{digits}f} {unit}" for key, name, unit, digits in main)
    assert shown == "impact speed 0.0700 m/s, peak force 76.8 N, T_c 0.2312 J, contact 0.1610 s"
    assert verdict_text(summary).startswith(f"The trial is accepted: {shown}\n")


def test_the_content_names_the_regulator_of_each_cylinder_and_what_lines_and_a_cut_take():
    content = page_content(Rig(load_config("sim_normal_force_wire")), None)
    assert {one["name"]: one["regulator"] for one in content["cylinders"]}["left"] in ("left", "supply")
    assert content["supply_kPa"] > 0.0
    assert [one["item"] for one in content["line_loads"] if one["item"].startswith("bus load")]
    without = page_content(Rig(load_config("sim_impact")), None)
    assert {one["regulator"] for one in without["cylinders"]} == {None}
    assert (without["line_loads"], without["cut_budget"]) == ([], [])
    assert [one["item"] for one in page_content(Rig(load_config("sim_wire")), None)["cut_budget"]][
        -1
    ] == "cut: in all, at worst"


def test_a_series_has_the_band_that_the_limits_allow_it():
    limits = ["limits.motor_current_A={safe_above: 5.0}", "limits.pressure_kPa={warn_above: 150.0, safe_above: 180.0}"]
    config = load_config("sim_impact", [*limits, "limits.supply_V={safe_below: 20.0}"])
    assert band("wheel_speed_radps/front_left", config.limits) == (-1.0, 1.0)
    assert band("force_N/top", config.limits) == (None, 445.0)
    assert band("daq_age_ns", config.limits) == (None, 10e6)
    assert band("current_A/front_left", config.limits) == (-5.0, 5.0)
    assert band("pressure_Pa/left_extend", config.limits) == (None, 180e3)
    assert band("supply_V/left", config.limits) == (20.0, None)
    assert band("speed_mps", config.limits) is None
    shown = {one["name"]: one["band"] for one in page_content(Rig(load_config("sim_impact")), None)["series"]}
    assert shown["pressure_Pa/left_extend"] == (None, 207e3)


def test_set_points_and_modes_are_those_that_the_experiment_takes():
    drive = page_content(Rig(load_config("sim_impact", ["experiment=drive"])), None)
    assert [one["name"] for one in drive["set_points"]] == ["speed_mps", "turn_mps"]
    assert (drive["modes"], drive["obstacle"]) == ([], None)
    assert page_content(Rig(load_config("sim_impact")), None)["set_points"] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in Path("rig_configs").glob("*.yaml")))
def test_what_a_rig_does_not_have_is_no_series_of_its_page(name):
    config = load_config(name)
    layout, section = config.layout, config.section
    names = {one["name"].partition("/")[0] for one in page_content(Rig(config), None)["series"]}
    has = {
        "daq_age_ns": layout.channels, "force_sum_N": layout.channels, "load_point_m": layout.channels,
        "drives_t_ns": layout.wheels, "valves_t_ns": layout.cylinders or layout.trigger, "servos_t_ns": layout.servos,
        "time_to_impact_s": section.obstacle, "impact": section.obstacle,
        "gap_m": section.obstacle or section.captures,
        "effective_kinetic_energy_J": section.obstacle or section.captures,
    }  # fmt: skip
    assert {field for field in has if field in names} == {field for field, there in has.items() if there}


def test_a_joint_that_slides_is_in_mm_and_N_and_its_series_in_m_and_N():
    config = load_config("sim_lift")
    content = page_content(Rig(config), None)
    (joint,) = content["servos"]
    assert (joint["unit"], joint["limit_unit"]) == ("mm", "N")
    assert joint["highest"] == pytest.approx(1e3 * config.driven_joints[0].high_rad)
    units = {one["name"]: one["unit"] for one in content["series"]}
    names = ("set_servo_angle_rad", "servo_angle_rad", "servo_torque_Nm")
    assert [units[f"{name}/{joint['name']}"] for name in names] == ["m", "m", "N"]


def test_every_series_finds_its_number_in_what_telemetry_publishes():
    layout = Layout(WHEELS, ("left", "right"), ("top", "lower_left", "lower_right"), regulators=("left_extend",))
    row = np.zeros(1, tick_dtype(layout))
    numbers = iter(range(1, 10_000))
    for name in row.dtype.names:
        field = row[name][0]
        row[name][0] = np.array([next(numbers) for _ in range(field.size)]).reshape(field.shape).astype(field.dtype)
    row["t_ns"] = 5
    with Publisher("", 100.0, 1000.0, 0.0, layout) as publisher:
        sent = io.BytesIO()
        publisher._send = lambda _, payload: sent.write(msgspec.msgpack.encode(payload()))
        publisher._publish(row[0])
    feed = TelemetryReceiver("")
    feed.take(b"tick", sent.getvalue())
    _, (tick,) = feed.ticks.since(0)
    shown = series(layout, load_config("sim_impact").section)
    found = [Series(one["name"], tuple(one["path"])).of(tick) for one in shown]
    assert len(found) == sum(row[name][0].size for name in row.dtype.names)
    assert None not in found
    assert len({one["name"] for one in shown}) == len(found)


def test_checks_that_follow_from_the_config_alone_are_there_before_arming():
    checks = fixed_checks(Rig(load_config("sim_impact")))
    assert "cylinder supply" in [check["item"] for check in checks]
    assert all(check["ok"] for check in checks)


@pytest.mark.slow
def test_most_traction_is_offered_on_soil_only():
    for ground, offered in (("soil", True), ("firm", False)):
        content = page_content(Rig(load_config("sim_normal_force", [f"ground.kind={ground}"])), None)
        assert ({"name": "max_traction"} in content["modes"]) == offered
