"""The cameras' trigger lines at the wire, in virtual time: they rise in the tick of the impact, and delay no stop."""

from pathlib import Path

import numpy as np
import pytest

from drivers.modbus import protocol
from drivers.ni.simulated.chassis import Chassis
from drivers.sim.virtual.serial import VirtualPort
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.recording import read_trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
AT_IMPACT = "camera={device: none, trigger: {when: impact}}"
COIL, LINE = 6, "cDAQ1Mod2/port0/line7"
VALVES = ("left_extend", "left_retract", "right_extend", "right_retract")
LINES = ", ".join(f"{valve}: cDAQ1Mod2/port0/line{i}" for i, valve in enumerate(VALVES))
NI_VALVES = f"devices.valves={{driver: ni, lines: {{{LINES}}}, watchdog_ms: 100, camera_trigger: {LINE}}}"
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here
# At 9600 baud: the answer of a request that is on its way, then the frame and its answer.
RELAY_WITHIN_MS, LINE_WITHIN_MS = 60.0, 20.0
STOP_WITHIN_MS = 2.0  # of the drives: a request that is on its way, at 115200 baud
STOP = b"\x22\x00\x00\x00\x00"  # of a RoboClaw, after its address: both duties zero


@pytest.fixture
def written(monkeypatch):
    """All that is written to serial ports: time [ns], port, bytes; oldest first."""
    seen, write = [], VirtualPort.write

    def noted(port, data, /):
        seen.append((port._time.now_ns, Path(port._terminal.endpoint).name, bytes(data)))
        return write(port, data)

    monkeypatch.setattr(VirtualPort, "write", noted)
    return seen


def of_impact(folder):
    """Ticks of a record, the event of its impact, and that of its trigger."""
    record = read_trial(folder, trusted=True)
    (impact,), (trigger,) = (record.events[record.events["name"] == name] for name in (b"impact", b"camera trigger"))
    return record.tick, impact, trigger


def rises_in_the_tick_of_the_impact(folder, within_ms):
    """The line is on from the tick that cuts, until the end; its device confirms it. Returns that tick's time [ns]."""
    ticks, impact, trigger = of_impact(folder)
    on = ticks["camera_trigger"] == 1
    np.testing.assert_array_equal(on, ticks["tick"] >= impact["reaction_tick"])
    assert ticks["cut"][on].all()
    assert trigger["tick"] == impact["reaction_tick"]
    assert 0.0 < trigger["value"] <= within_ms
    assert [check for check in verify(folder) if not check.ok and check.item not in NO_SUMMARY] == []
    return int(trigger["t_ns"])


def test_a_relay_rises_in_the_tick_of_the_impact_and_the_next_bytes_to_the_drives_are_their_stops(trial, written):
    done = trial(None, AT_IMPACT, f"devices.valves.camera_trigger={COIL}")
    assert done.error is None
    impact_ns = rises_in_the_tick_of_the_impact(done.folder, RELAY_WITHIN_MS)
    after = [(at_ns - done.start_ns - impact_ns, name, data) for at_ns, name, data in written]
    after = [one for one in after if one[0] >= 0]
    to_drives = b"".join(data for _, name, data in after if name == "roboclaw")
    assert [to_drives[place : place + 6] for place in (0, 8, 16)] == [bytes([at]) + STOP for at in (0x80, 0x81, 0x82)]
    flash = protocol.write_coil(1, 0x200 + COIL, 5).frame
    assert not [data for at_ns, _, data in written if data == flash and at_ns < done.start_ns + impact_ns]
    stop, trigger = ([name for _, name, _ in after].index("roboclaw"), [data for *_, data in after].index(flash))
    assert stop < trigger
    assert after[stop][0] <= STOP_WITHIN_MS * 1e6
    switched = [(coil, on) for _, coil, on in done.run.ask("stops", device="modbus")["switched"]]
    assert switched == [(COIL, True), (COIL, False)]  # no gap while it is refreshed, and off after the run
    assert replay(done.folder).differences == []


def test_an_ni_line_rises_in_the_tick_of_the_impact_and_is_off_after_the_run(trial, monkeypatch):
    changes, put = [], Chassis._set

    def noted(chassis, physical, value):
        if physical == LINE and chassis.lines[physical] != bool(value):
            changes.append((chassis._host.now_ns(), bool(value)))
        put(chassis, physical, value)

    monkeypatch.setattr(Chassis, "_set", noted)
    done = trial(None, AT_IMPACT, NI_VALVES)
    assert done.error is None
    impact_ns = rises_in_the_tick_of_the_impact(done.folder, LINE_WITHIN_MS)
    assert [on for _, on in changes] == [True, False]
    assert 0 <= changes[0][0] - done.start_ns - impact_ns <= LINE_WITHIN_MS * 1e6


BOTH = "camera={device: none, triggers: {overview: {when: armed}, close_up: {when: impact, for_s: 0.2}}}"
COILS = {"overview": 6, "close_up": 7}
NI_LINES = {"overview": "cDAQ1Mod2/port0/line6", "close_up": "cDAQ1Mod2/port0/line7"}
NI_BOTH = NI_VALVES.replace(f"camera_trigger: {LINE}", "camera_triggers: " + str(NI_LINES).replace("'", ""))


@pytest.mark.parametrize("maker", ["modbus", "ni"])
def test_an_overview_runs_from_arming_and_a_close_up_from_the_impact_for_its_time(trial, monkeypatch, maker):
    changes, put = [], Chassis._set

    def noted(chassis, physical, value):
        if physical in NI_LINES.values() and chassis.lines[physical] != bool(value):
            changes.append((physical, bool(value)))
        put(chassis, physical, value)

    monkeypatch.setattr(Chassis, "_set", noted)
    places = COILS if maker == "modbus" else NI_LINES
    board = f"devices.valves.camera_triggers={COILS}".replace("'", "")
    done = trial(None, BOTH, *([board, "devices.valves.baud=115200"] if maker == "modbus" else [NI_BOTH]))
    assert done.error is None
    record = read_trial(done.folder, trusted=True)
    (impact,) = record.events[record.events["name"] == b"impact"]
    lines = {
        mark["detail"].decode().partition(":")[0]: mark
        for mark in record.events[record.events["name"] == b"camera trigger"]
    }
    ticks, on = record.tick, record.tick["camera_triggers"].astype(bool)
    np.testing.assert_array_equal(on[:, 0], (ticks["state"] >= 1) & (ticks["state"] < 5))
    began_ns = ticks["t_ns"][ticks["tick"] == impact["reaction_tick"]][0]
    np.testing.assert_array_equal(on[:, 1], (ticks["t_ns"] >= began_ns) & (ticks["t_ns"] < began_ns + 200_000_000))
    assert [lines[name]["t_ns"] for name in places] == [ticks["t_ns"][on[:, 0]][0], began_ns]
    assert all(0.0 < mark["value"] <= RELAY_WITHIN_MS for mark in lines.values())
    if maker == "modbus":
        changes = [(coil, to) for _, coil, to in done.run.ask("stops", device="modbus")["switched"]]
    wanted = [
        (places["overview"], True),
        (places["close_up"], True),
        (places["close_up"], False),
        (places["overview"], False),
    ]
    assert changes == wanted
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []


def test_a_rover_without_cylinders_has_a_board_for_the_trigger_alone(trial):
    board = "devices.valves={driver: modbus, flash_on: true, camera_trigger: 3}"
    armed = "camera={device: none, trigger: {when: armed}}"
    done = trial(None, armed, board, "experiment=jog", "jog.seconds=0.3", config="sim_juno_wire")
    assert done.error is None
    assert done.faults == []
    ticks = read_trial(done.folder, trusted=True).tick
    np.testing.assert_array_equal(ticks["camera_trigger"] == 1, (ticks["state"] >= 1) & (ticks["state"] < 5))
    switched = [(coil, on) for _, coil, on in done.run.ask("stops", device="modbus")["switched"]]
    assert switched == [(3, True), (3, False)]
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
