"""Real processes, real pseudo-terminals, real signals: what happens when one of them is killed, and in which order.

The times are tested by tests/protocol, in virtual time, and by `make soak`. On a busy machine the run may be refused,
or end in Safe, before the test disturbs it: then the test checks that result.
"""

import os
import signal
import subprocess
import sys
import time

import pytest

from hil.simulator.control_socket import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stalls")]
ADDRESSES = {0x80, 0x81, 0x82}
PATIENCE_S = 120.0


def newest(wire, *kinds):
    """By address: the time of the newest event recorded by each controller of the bus [ns]."""
    seen = wire.control.ask("stops", device="roboclaw")
    found = {}
    for address, at_ns in [item for kind in kinds for item in seen[kind]]:
        found[address] = max(at_ns, found.get(address, 0))
    return found


def all_stand(wire):
    """Every controller that was ever started has been stopped since, by a command or by its time-out."""
    stops = newest(wire, "stops", "timeouts")
    return all(stops.get(address, 0) > at_ns for address, at_ns in newest(wire, "starts").items())


def strike(wire, loop, act):
    """Act once the wheels of all controllers run; False: the run ended before, and nothing was done."""
    wait_for(lambda: loop.ended or (set(newest(wire, "starts")) == ADDRESSES and not all_stand(wire)), PATIENCE_S)
    if loop.ended:
        return False
    act()
    return True


def stay_stopped(wire, struck_ns):
    """The wheels come to rest, and no controller is started any more."""
    assert wait_for(lambda: all_stand(wire), PATIENCE_S)
    time.sleep(0.5)  # time in which a process could start them again; a longer time is fine, since none may
    assert all_stand(wire)
    assert all(at_ns <= struck_ns for at_ns in newest(wire, "starts").values())


def test_a_stopped_loop_does_not_drive_when_it_goes_on(wire, loop):
    def act():
        os.kill(loop.process.pid, signal.SIGSTOP)
        assert wait_for(lambda: all_stand(wire), PATIENCE_S)
        os.kill(loop.process.pid, signal.SIGCONT)

    struck = strike(wire, loop, act)
    struck_ns = time.monotonic_ns()
    status = loop.process.wait(PATIENCE_S)
    assert status in ((1,) if struck else (0, 1, 2, 3))
    stay_stopped(wire, struck_ns)


def test_when_every_process_is_killed_the_controllers_stop_by_themselves(wire, loop, kill_run):
    def act():
        processes = kill_run.processes_of(loop.run)
        for name in ("watchdog", "drives", *processes):  # first those that could still send a stop
            if name in processes:
                os.kill(processes[name], signal.SIGKILL)

    strike(wire, loop, act)
    stay_stopped(wire, time.monotonic_ns())
    assert wait_for(lambda: kill_run.processes_of(loop.run) == {}, PATIENCE_S)


@pytest.mark.parametrize("name", ["drives", "watchdog"])
def test_a_killed_worker_leaves_stopped_wheels_and_a_run_that_ends_in_safe(wire, loop, kill_run, name):
    def act():
        os.kill(kill_run.processes_of(loop.run)[name], signal.SIGKILL)

    struck = strike(wire, loop, act)
    struck_ns = time.monotonic_ns()
    status = loop.process.wait(PATIENCE_S)
    assert status in ((1,) if struck else (0, 1, 2, 3))
    stay_stopped(wire, struck_ns)
    assert kill_run.processes_of(loop.run) == {}


POWER_AND_HOLD = """
import sys
from drivers.modbus.settings import ModbusValvesSettings
from drivers.messages import VALVES_OFF, ValveCommand
from drivers.modbus.valves import ModbusValves
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
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

    def switched():
        return [
            (coil, on) for at_ns, coil, on in wire.control.ask("stops", device="modbus")["switched"] if at_ns > begun_ns
        ]

    assert wait_for(lambda: switched()[-1:] == [(0, False)], PATIENCE_S)
    assert switched() == [(0, True), (0, False)]
