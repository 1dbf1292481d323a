"""Faults of the lines and processes of an instrument whose driver is found by its role, whatever it is called."""

from __future__ import annotations

from typing import Literal

import pytest

from drivers import registry
from drivers.device_sections import MotionSection, Port
from drivers.driver_type import InstrumentType
from drivers.host import COMPUTER
from drivers.messages import Reading
from drivers.serial.link import BadFrameError, SerialLink
from drivers.sim.protocol.line import SimulatedPort
from drivers.sim.protocol.plant_ports import NEVER_NS
from hil.app.faults.case import PROCESSES, VIRTUAL_TIME
from hil.app.faults.instrument_cases import endpoints_of, instrument_wire_cases
from hil.config import load_config
from hil.config.schema.trial import TrialConfig
from hil.messages.fault import Fault

NAME, BAUD, PERIOD_NS = "textpose", 115_200, 10_000_000
SETTINGS = (
    "rig=simulated",
    "telemetry.endpoint=''",
    "motion={measures: position}",
    f"devices.motion={{driver: {NAME}}}",
)


class TextPose:
    """`R` is answered by number, time and values of the newest reading."""

    def __init__(self, port, host, alive):
        self._link = SerialLink(NAME, port, BAUD, timeout_s=0.02, host=host, alive=alive)
        self._host, self._due_ns, self._reading = host, 0, None

    def open(self):
        self._link.open()

    def close(self):
        self._link.close()

    def health(self):
        return self._link.health("text lines")

    def read(self, t_ns):
        reading, self._reading = self._reading, None
        return reading

    def step(self):
        now_ns = self._host.now_ns()
        if now_ns < self._due_ns:
            self._host.sleep(min((self._due_ns - now_ns) * 1e-9, 0.001))
            return
        self._due_ns = now_ns + PERIOD_NS
        number, t_ns, value = self._link.ask(b"R\n", lambda answer: 0 if answer.endswith(b"\n") else 1, parsed)
        if number:
            self._reading = Reading(number, t_ns, value, self._host.now_ns())


def parsed(answer):
    try:
        number, t_ns, x, y, z = answer.split()
        return int(number), int(t_ns), (float(x), float(y), float(z))
    except ValueError as error:
        raise BadFrameError(f"{answer!r} is no reading") from error


class TextPoseDevice:
    def __init__(self, instrument):
        self._instrument = instrument

    def wake(self, now_ns):
        return NEVER_NS

    def press(self, pressed):
        raise ValueError("no emergency stop")

    def receive(self, data, began_ns, ended_ns):
        number, t_ns, value = (self._instrument.since(0) or [(0, 0, (0.0, 0.0, 0.0))])[-1]
        return b"%d %d %s\n" % (number, t_ns, " ".join(map(repr, value)).encode())


class Section(MotionSection):
    driver: Literal["textpose"]
    port: Port = ""


class TextPoseType(InstrumentType[Section]):
    name, role, settings = NAME, "motion", Section

    def make(self, section, rig, host=COMPUTER, alive=lambda: None):
        return TextPose(section.port, host, alive)

    def at_endpoints(self, values, endpoints):
        values["port"] = endpoints["textpose_2"]

    def simulated_ports(self, section, rig, ports):
        return {"textpose_2": SimulatedPort(TextPoseDevice(ports.instruments["motion"]), BAUD, 100_000)}


@pytest.fixture
def installed(monkeypatch):
    """The driver is one of an installed package."""
    monkeypatch.setattr(registry, "_installed", lambda name: (TextPoseType(),) if name == NAME else ())


@pytest.fixture
def needed(monkeypatch):
    """The impact trial needs the instrument at the protocol level."""
    monkeypatch.setattr(TrialConfig, "needs_instruments", lambda self, rig: ("motion",) * (rig == "simulated_wire"))


def cases(level=VIRTUAL_TIME):
    found = instrument_wire_cases(load_config("sim_wire", SETTINGS))
    return {(case.device, case.kind): case for case in found if case.level == level}


def test_an_instrument_without_a_driver_has_no_line(installed):
    assert list(instrument_wire_cases(load_config("sim_wire", SETTINGS[:-1]))) == []


def test_lines_are_found_by_what_the_driver_asks_a_simulated_rig_for(installed):
    assert endpoints_of(load_config("sim_wire", SETTINGS).devices, "motion") == ["textpose_2"]


def test_each_kind_of_fault_of_the_line_and_of_the_process_is_a_case(installed):
    lines = (
        "off",
        "off and on again",
        "unplugged and plugged in",
        "garbage",
        "intermittent",
        "delayed",
        "duplicate",
        "slow",
    )
    of_process = {("motion process", kind) for kind in ("killed", "stopped")}
    assert set(cases()) == {("textpose_2", kind) for kind in lines} | of_process
    assert set(cases(PROCESSES)) == of_process


def test_the_line_of_an_instrument_behind_a_device_server_is_that_of_the_data_acquisition():
    counter = "devices.motion={driver: ni, counter: cDAQ1Mod7/ctr0, m_per_pulse: 1.0e-4}"
    none = [f"{role}=null" for role in ("imu", "joints", "devices.imu", "devices.joints")]
    config = load_config("sim_motion_wire", [*none, "motion.measures=distance", counter])
    assert {case.device for case in instrument_wire_cases(config)} == {"motion process"}


@pytest.mark.ci_cases("textpose_2-off", "motion process-killed")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "kind"),
    [
        ("textpose_2", "off"), ("textpose_2", "unplugged and plugged in"), ("textpose_2", "garbage"),
        ("textpose_2", "delayed"), ("motion process", "killed"), ("motion process", "stopped"),
    ],
)  # fmt: skip
def test_a_run_goes_on_without_an_instrument_that_it_does_not_need(installed, device, kind):
    result = cases()[device, kind].result()
    assert result.ok, result.outcome
    assert result.outcome.reacted_ms is None
    if kind not in ("garbage", "delayed"):
        assert 100.0 < result.outcome.detected_ms <= result.bound_ms


@pytest.mark.ci_cases("textpose_2-off")
@pytest.mark.slow
@pytest.mark.parametrize(("device", "kind"), [("textpose_2", "off"), ("motion process", "killed")])
def test_a_run_is_stopped_where_it_needs_the_instrument(installed, needed, device, kind):
    result = cases()[device, kind].result()
    assert result.ok, result.outcome
    assert result.outcome.reacted_ms <= result.bound_ms


@pytest.mark.soak
def test_an_instrument_that_can_play_a_recording_back_is_marked_when_it_does():
    config = load_config("sim_motion_wire", ["experiment=impact", "telemetry.endpoint=''"])
    case = next(case for case in instrument_wire_cases(config) if case.kind == "playback")
    assert (case.row, case.device) == (Fault.NOT_LIVE, "natnet")
    result = case.result()
    assert result.ok, result.outcome
    assert 0.0 < result.outcome.detected_ms <= result.bound_ms
