"""The cameras' trigger lines: when they are on, what refuses a config, what record and `hil check` say."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from drivers.driver_type import RigSetup
from drivers.messages import ValveCommand
from drivers.modbus.section import ModbusValvesSection
from drivers.modbus.valves import ModbusValves
from drivers.valve_layout import ValveLayout
from hil.analysis.command_checks import cut_in_safe
from hil.app.camera import capture
from hil.app.camera.capture import CameraError, GrantedFormat, camera_marks
from hil.app.check import instrument_checks
from hil.app.check.instrument_checks import check_camera
from hil.app.run import run
from hil.config import ConfigError, load_config
from hil.config.schema.sensors import CameraConfig, TriggerConfig, TriggerLineConfig
from hil.control.wheel_speed import CameraTriggers, TriggerLine
from hil.messages.layout import Layout
from hil.messages.link_messages import CommandRow, Row
from hil.messages.signals import tick_dtype
from hil.messages.stages import Command, Goal, SetPoints
from hil.recording.run_folder import RunFrame
from hil.runtime.rig_io import RigIO

SHORT = ("experiment=jog", "jog.seconds=0.3", "telemetry.endpoint=''")
WIRE, COIL = "camera={device: none, trigger: {}}", "devices.valves.camera_trigger"
BOTH = "camera={device: none, triggers: {overview: {when: armed}, close_up: {for_s: 0.2}}}"
NI = (
    "devices.valves={driver: ni, watchdog_ms: 100, camera_trigger: LINE, lines: {left_extend: D/port0/line0, "
    "left_retract: D/port0/line1, right_extend: D/port0/line2, right_retract: D/port0/line3}}"
)


@pytest.mark.parametrize(
    ("states", "state", "impact_ns", "on"),
    [
        (range(1, 5), 0, None, False),
        (range(1, 5), 1, None, True),
        (range(1, 5), 4, 7, True),
        (range(1, 5), 5, 7, False),
        (None, 4, None, False),
        (None, 4, 7, True),
    ],
)
def test_the_line_is_on_while_armed_or_once_the_impact_is_detected(states, state, impact_ns, on):
    asked = SetPoints(state, False, (0.1,))
    controller = SimpleNamespace(control=lambda *_: asked)
    goal, estimate = Goal(state, False), SimpleNamespace(impact_ns=impact_ns)
    line, never = TriggerLine(states), TriggerLine(())
    found = CameraTriggers(controller, line).control(goal, SimpleNamespace(t_ns=9), estimate, None)
    assert (found.trigger, found.speed_radps) == (on, (0.1,))
    named = CameraTriggers(controller, None, (never, line)).control(goal, SimpleNamespace(t_ns=9), estimate, None)
    assert (named.trigger, named.triggers) == (False, (False, True) if on else ())


@pytest.mark.parametrize("states", [range(1, 5), None])
def test_a_line_goes_off_after_its_time_and_comes_on_again_in_the_next_run(states):
    line = TriggerLine(states, 3)
    armed = [(t_ns, 1, 0) for t_ns in range(10, 15)]
    assert [line.on(*one) for one in armed] == [True, True, True, False, False]
    assert not line.on(15, 0, None)
    assert line.on(16, 1, 16)


def test_a_command_keeps_its_trigger_on_its_way_through_shared_memory():
    layout = Layout(("left",), ("left",), (), regulators=("supply",), trigger=True, triggers=("overview", "close_up"))
    for trigger in (True, False):
        row, numbers = CommandRow("valves", layout), Row(CommandRow("valves", layout).dtype)
        command = ValveCommand(5, ((True, False),), (2e5,), trigger, (not trigger, trigger))
        numbers.set(*row.pack(command))
        assert row.unpack(numbers.numbers(), 0) == command
        assert {type(one) for one in row.unpack(numbers.numbers(), 0).triggers} == {bool}
    assert not {"trigger", "triggers"} & {*CommandRow("valves", Layout(("left",), ("left",), ())).dtype.names}


def test_a_cut_is_written_before_the_trigger():
    written = []
    drives, valves = (SimpleNamespace(read=None, write=written.append) for _ in range(2))
    command = Command(3, False, True, (0.0,), ((False, False),), 0, trigger=True)
    RigIO(Layout(("left",), ("left",), (), trigger=True), {"drives": drives, "valves": valves}).command(9, command)
    assert written[0].cut
    assert written[1].trigger


def test_no_driver_takes_a_command_with_the_trigger_on_for_the_safe_one():
    layout = ValveLayout(("left",), ("extend",), trigger=True)
    valves = ModbusValves(ModbusValvesSection(driver="modbus", camera_trigger=4), RigSetup(valves=layout))
    valves.write(ValveCommand(1, ((False, False),), trigger=True))
    assert valves._target == [False, False]
    valves.write(ValveCommand(2, ((False, False),)))
    valves.write(ValveCommand(3, ((False, False),), trigger=True))
    assert valves._target == [False, True]
    assert "camera_trigger" in layout.outputs


def test_no_driver_takes_a_command_with_a_named_line_on_for_the_safe_one():
    layout = ValveLayout(("left",), ("extend",), triggers=("overview", "close_up"))
    section = ModbusValvesSection(driver="modbus", camera_triggers={"close_up": 4, "overview": 5})
    valves = ModbusValves(section, RigSetup(valves=layout))
    valves.write(ValveCommand(1, ((False, False),), triggers=(False, True)))
    assert valves._target == [False, False, False]
    valves.write(ValveCommand(2, ((False, False),)))
    valves.write(ValveCommand(3, ((False, False),), triggers=(False, True)))
    assert valves._target == [False, False, True]


@pytest.mark.parametrize(
    ("source", "overrides", "found"),
    [
        ("sim_wire", [WIRE], r"devices\.valves\.camera_trigger: found nothing .*coil of the relay board"),
        ("sim_wire", [WIRE, f"{COIL}=2"], r"camera_trigger: found coil 2, which is that of the valve right_extend"),
        ("sim_wire", [WIRE, f"{COIL}=2500"], r"camera_trigger: found 2500; allowed: 0 to 254"),
        ("sim_wire", [WIRE, NI.replace("LINE", "D/port0/line2")], r"d/port0/line2 2 times; allowed: each physical"),
        ("sim_wire", [WIRE, NI.replace("LINE", "null")], r"devices\.valves\.camera_trigger: found nothing"),
        (
            "sim_wire",
            [BOTH],
            r"camera_triggers: found nothing .*that nothing else uses, for each of overview, close_up",
        ),
        ("sim_wire", [BOTH, f"{COIL}s={{overview: 6}}"], r"camera_triggers\.close_up: found nothing; allowed: a value"),
        (
            "sim_wire",
            [BOTH, f"{COIL}s={{overview: 6, close_up: 6}}"],
            r"close_up: found coil 6, which is that camera_tr",
        ),
        ("sim_wire", [BOTH, f"{COIL}s={{overview: 6, close_up: 2}}"], r"coil 2, which is that of the valve right_ext"),
        (
            "sim_wire",
            [BOTH, f"{COIL}s={{overview: 6, close_up: 7, side: 8}}"],
            r"\.side: .*overview, close_up \(camera",
        ),
        ("sim_impact", ["camera={triggers: {close-up: {}}}"], r"camera\.triggers: .* names of up to 40 letters"),
        ("sim_juno", [BOTH], r"camera\.triggers\.close_up\.when: found impact; allowed: armed"),
        ("sim_impact", ["camera={trigger: {when: each_frame}}"], "a pulse for each frame is not possible"),
        ("sim_impact", ["camera={device: none}"], r"camera\.trigger: found nothing"),
        ("sim_juno", ["camera={trigger: {when: impact}}"], r"camera\.trigger\.when: found impact; allowed: armed"),
    ],
)
def test_a_trigger_that_the_rig_cannot_give_is_refused_in_words(source, overrides, found):
    with pytest.raises(ConfigError, match=found):
        load_config(source, overrides)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sim_impact", "sim_juno"])
def test_a_rig_with_or_without_cylinders_has_the_line_on_from_arming_to_the_end(name):
    done = run(load_config(name, [*SHORT, "camera={device: none, trigger: {when: armed}}"]))
    assert done.exit_code == 0
    on = done.ticks["camera_trigger"] == 1
    np.testing.assert_array_equal(on, (done.ticks["state"] >= 1) & (done.ticks["state"] < 5))
    assert on.any()
    assert not on[0]


def ticks_with(on_from, confirmed_from, count=20):
    ticks = np.zeros(count, tick_dtype(Layout(("left",), (), (), trigger=True)))
    ticks["tick"], ticks["t_ns"] = np.arange(count), np.arange(count) * 1_000_000
    ticks["camera_trigger"][on_from:], ticks["valves_acknowledged_ns"] = 1, -1
    ticks["valves_acknowledged_ns"][confirmed_from:] = on_from * 1_000_000
    return ticks


@pytest.mark.parametrize(("confirmed", "value", "reaction"), [(12, 7.0, 5), (20, np.nan, -1)])
def test_the_record_says_when_the_line_was_on_and_when_its_device_had_confirmed_it(confirmed, value, reaction):
    (mark,) = camera_marks(CameraConfig(device="none", trigger=TriggerConfig()), ticks_with(5, confirmed), None, "")
    assert mark[["name", "tick", "t_ns", "reaction_tick"]][0].tolist() == (b"camera trigger", 5, 5_000_000, reaction)
    np.testing.assert_equal(mark["value"][0], value)


def test_the_record_says_when_each_line_with_a_name_was_on():
    layout = Layout(("left",), (), (), triggers=("overview", "close_up"))
    ticks = np.zeros(20, tick_dtype(layout))
    ticks["tick"], ticks["t_ns"] = np.arange(20), np.arange(20) * 1_000_000
    ticks["valves_acknowledged_ns"] = np.maximum(ticks["t_ns"] - 2_000_000, -1)
    ticks["camera_triggers"][3:, 0] = ticks["camera_triggers"][8:12, 1] = 1
    camera = CameraConfig(device="none", triggers=dict.fromkeys(layout.triggers, TriggerLineConfig()))
    marks = camera_marks(camera, ticks, None, "")
    assert [(int(mark["tick"][0]), mark["detail"][0].partition(b":")[0]) for mark in marks] == [
        (3, b"overview"),
        (8, b"close_up"),
    ]
    assert [float(mark["value"][0]) for mark in marks] == [2.0, 2.0]
    ticks["safe"][10:], ticks["cut"][10:] = 1, 1
    assert "10 of them, first 10" in cut_in_safe(ticks).found


def test_one_line_without_a_name_leaves_config_and_layout_as_they_were():
    config = load_config("sim_wire", [WIRE, f"{COIL}=6"])
    text = config.to_yaml() + config.layout.to_json()
    assert not [word for word in ("triggers", "for_s") if word in text]


def test_a_gated_camera_is_not_silent_while_its_line_is_off(monkeypatch):
    spans = []
    monkeypatch.setattr(capture, "silence", lambda frames, span_ns, *_: spans.append(span_ns) or [])
    camera = CameraConfig(device="/dev/video0", trigger=TriggerConfig(gates=True))
    frames = [RunFrame(6_000_000, 0, "000000.jpg", "camera")]
    camera_marks(camera, ticks_with(5, 6), frames, "")
    camera_marks(camera, ticks_with(20, 20), [], "")
    camera_marks(CameraConfig(device="/dev/video0"), ticks_with(5, 6), [], "")
    assert spans == [(5_000_000, 19_000_000), (0, 19_000_000)]


def test_verify_finds_a_line_that_is_on_in_safe():
    ticks = ticks_with(5, 6)
    ticks["safe"][4:], ticks["cut"][4:] = 1, 1
    found = cut_in_safe(ticks)
    assert not found.ok
    assert "15 of them, first 5" in found.found


def row_of(config, item):
    (check,) = (check for check in check_camera(config.camera, config.devices, config.rig) if check.item == item)
    return check


@pytest.mark.parametrize(
    ("granted", "ok", "said"),
    [
        (GrantedFormat("Cam", "MJPEG", 640, 480, 10.0), True, "Cam, MJPEG 640 x 480, 10 Hz"),
        (GrantedFormat("Cam", "MJPEG", 640, 480, 7.5), False, "7.5 Hz"),
        (GrantedFormat("Cam", "MJPEG", 320, 240, 10.0), False, "320 x 240"),
        (GrantedFormat("Cam", "MJPEG", 640, 480, np.nan), True, "no stated rate"),
    ],
)
def test_hil_check_says_what_the_camera_grants(monkeypatch, granted, ok, said):
    monkeypatch.setattr(instrument_checks, "granted", lambda *_: granted)
    check = row_of(load_config("sim_impact", ["clock=realtime", "camera={device: /dev/video0}"]), "camera")
    assert check.ok is ok
    assert said in check.found


def test_hil_check_names_the_cameras_that_are_there_and_how_to_install_what_is_missing(monkeypatch):
    pytest.importorskip("linuxpy", reason="opens the camera")
    monkeypatch.setattr(instrument_checks, "present", lambda: ["/dev/v4l/by-id/usb-other", "/dev/video3"])
    config = load_config("sim_impact", ["clock=realtime", "camera={device: /dev/no_such_camera}"])
    check = row_of(config, "camera")
    assert (check.ok, "No such file" in check.found) == (False, True)
    assert "/dev/v4l/by-id/usb-other, /dev/video3" in check.to_do

    def not_installed(*_):
        raise CameraError("linuxpy is not installed: pip install 'rover-hil[camera]'")

    monkeypatch.setattr(instrument_checks, "granted", not_installed)
    assert "pip install" in row_of(config, "camera").found


def test_hil_check_names_the_output_of_the_trigger():
    config = load_config("sim_impact")
    assert check_camera(config.camera, config.devices, config.rig) == []
    check = row_of(load_config("sim_wire", [WIRE, f"{COIL}=6"]), "camera trigger")
    assert check.found == "modbus output 6, on from the impact to the end of the run"


def test_hil_check_names_the_output_of_each_line_with_a_name():
    config = load_config("sim_wire", [BOTH, f"{COIL}s={{close_up: 7, overview: 6}}", "devices.valves.baud=115200"])
    found = {check.item: check.found for check in check_camera(config.camera, config.devices, config.rig)[1:]}
    assert found == {
        "camera trigger overview": "modbus output 6, on from arming to the end of the run",
        "camera trigger close_up": "modbus output 7, on from the impact for 0.2 s",
    }
