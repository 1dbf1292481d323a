"""A loop process that hangs or dies in the middle of a trial at the wire: row 12 of the fault table."""

import os
import signal
import subprocess
import sys
import time

import pytest

from hil.app.wire.control import wait_for

pytestmark = pytest.mark.slow
MS = 1_000_000
MARGIN_MS = 60  # for a machine of two cores that does other things too
ADDRESSES = {0x80, 0x81, 0x82}
DEAD_MAN_MS, TIMEOUT_MS = 20, 100


def late_ms(found, since_ns):
    return [(at_ns - since_ns) / MS for at_ns in found.values()]


def test_a_stopped_loop_is_cut_by_the_dead_man_and_does_not_drive_when_it_goes_on(wire, loop):
    os.kill(loop.process.pid, signal.SIGSTOP)
    stopped_ns = time.monotonic_ns()
    assert wait_for(lambda: set(wire.seen("stops", stopped_ns)) == ADDRESSES, 2.0)
    assert max(late_ms(wire.seen("stops", stopped_ns), stopped_ns)) < DEAD_MAN_MS + 20 + MARGIN_MS
    os.kill(loop.process.pid, signal.SIGCONT)
    assert loop.process.wait(30) == 1
    assert wire.seen("starts", stopped_ns) == {}


def test_when_every_process_is_killed_the_controllers_stop_by_themselves(wire, loop, kill_run, tmp_path):
    processes = kill_run.processes_of(tmp_path / "run")
    assert {"loop", "daq", "drives", "valves", "recorder", "watchdog"} <= set(processes)
    for name in ("watchdog", "drives", *processes):  # first those that could still send a stop
        os.kill(processes[name], signal.SIGKILL)
    killed_ns = time.monotonic_ns()
    since_ns = killed_ns - 50 * MS  # all of them are not killed in an instant
    assert wait_for(lambda: set(wire.seen("timeouts", since_ns)) == ADDRESSES, 2.0)
    assert max(late_ms(wire.seen("timeouts", since_ns), killed_ns)) < TIMEOUT_MS + MARGIN_MS
    assert wire.seen("starts", killed_ns) == {}


POWER_AND_HOLD = """
import sys
from drivers.modbus_settings import ModbusValvesSettings
from drivers.types import VALVES_OFF, ValveCommand
from drivers.valves_modbus import ModbusValves
valves = ModbusValves(ModbusValvesSettings(port=sys.argv[1], coils=(0, 1, 2, 3), flash_on=True, flash_s=0.5))
valves.open()
valves.write(ValveCommand(1, VALVES_OFF))
for _ in range(20):
    valves.step()
valves.write(ValveCommand(2, ((True, False), (False, False))))
while True:
    valves.step()
    sample = valves.read(0)
    if sample and sample.acknowledged_ns == 2:
        print("on", flush=True)
"""


def test_when_their_worker_is_killed_the_relay_board_lets_its_valves_go(wire):
    begun_ns = time.monotonic_ns()
    process = subprocess.Popen([sys.executable, "-c", POWER_AND_HOLD, wire.ports["modbus"]], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"on\n"
        time.sleep(1.0)  # longer than flash_s: it is told again and again
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    killed_ns = time.monotonic_ns()

    def switched():
        return [
            (coil, on) for at_ns, coil, on in wire.control.ask("stops", device="modbus")["switched"] if at_ns > begun_ns
        ]

    assert switched() == [(0, True)]
    assert wait_for(lambda: switched() == [(0, True), (0, False)], 5.0)
    *_, (let_go_ns, _, _) = wire.control.ask("stops", device="modbus")["switched"]
    assert (let_go_ns - killed_ns) / MS < 500 + MARGIN_MS
