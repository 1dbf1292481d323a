"""Real processes, real pseudo-terminals, real signals: bring-up, and what happens when a process is killed.

All tests share one simulated rig, which uses a third of a processor as long as it is there. Times are tested by
tests/protocol, in virtual time, and by `make soak`. On a busy machine a run may be refused, or end in Safe, before the
test disturbs it: then the test checks that result.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hil.app.faults.process_cases import processes_of
from hil.cli import run
from hil.recording import read_trial
from hil.simulator.control_socket import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stalls")]
ADDRESSES = {0x80, 0x81, 0x82}
PATIENCE_S = 500.0
# Checks that may fail on a busy machine: how often and how late processes run.
OF_TIME = {"DAQ sample age", "sample rate", "rate of the drives"}
# Devices of `hil check`, and all the ways in which it says that one did not answer, or was not asked, in time: half an
# answer that comes late damages the next. The shortest such time is 15 ms.
DEVICES = {"data acquisition", "wheel drives", "bogie valves"}
LOST = (
    "no answer", "twice; check cable", "answers damaged", "no speeds within", "no samples in time", "not read in time",
    "unread blocks", "too few to zero", "is the device server running", "no device server answers",
)  # fmt: skip
# Of a device that did answer: what it had not confirmed or reported by the end of the time.
UNREAD = ("not confirmed", "nan V", "nan A", "not measured")
WAITED_NS = 10_000_000


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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
    assert wait_for(
        lambda: loop.ended or (set(newest(wire, "starts")) == ADDRESSES and not all_stand(wire)), PATIENCE_S
    )
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


@pytest.mark.soak
def test_a_stopped_loop_does_not_drive_when_it_goes_on(wire, loop):
    def act():
        os.kill(loop.process.pid, signal.SIGSTOP)
        assert wait_for(lambda: all_stand(wire), PATIENCE_S)
        os.kill(loop.process.pid, signal.SIGCONT)

    struck = strike(wire, loop, act)
    struck_ns = time.monotonic_ns()
    status = loop.process.wait()
    stay_stopped(wire, struck_ns)
    if status == -signal.SIGKILL:  # a busy machine continued it after the second that the watchdog allows
        assert wait_for(lambda: processes_of(loop.run) == {}, PATIENCE_S)
        assert b"loop_hung" in read_trial(loop.run).events["name"]
    else:
        assert status in ((1,) if struck else (0, 1, 2, 3))


@pytest.mark.soak  # in virtual time, each `make test` looks at it (tests/protocol)
def test_when_every_process_is_killed_the_controllers_stop_by_themselves(wire, loop):
    def act():
        processes = processes_of(loop.run)
        for name in ("watchdog", "drives", *processes):  # first those that could still send a stop
            if name in processes:
                os.kill(processes[name], signal.SIGKILL)

    strike(wire, loop, act)
    stay_stopped(wire, time.monotonic_ns())
    assert wait_for(lambda: processes_of(loop.run) == {}, PATIENCE_S)


# The watchdog's end is in virtual time too.
@pytest.mark.parametrize("name", ["drives", pytest.param("watchdog", marks=pytest.mark.soak)])
def test_a_killed_worker_leaves_stopped_wheels_and_a_run_that_ends_in_safe(wire, loop, name):
    def act():
        os.kill(processes_of(loop.run)[name], signal.SIGKILL)

    struck = strike(wire, loop, act)
    struck_ns = time.monotonic_ns()
    status = loop.process.wait()
    assert status in ((1,) if struck else (0, 1, 2, 3))
    stay_stopped(wire, struck_ns)
    assert processes_of(loop.run) == {}


POWER_AND_HOLD = """
import sys
from drivers.interfaces import LinkLostError
from drivers.driver_type import RigSetup
from drivers.messages import ValveCommand
from drivers.modbus.section import ModbusValvesSection
from drivers.modbus.valves import ModbusValves
from drivers.valve_layout import ValveLayout
rig = RigSetup(valves=ValveLayout())
valves = ModbusValves(ModbusValvesSection(driver="modbus", port=sys.argv[1], baud=38400, flash_on=True), rig)

def power():
    valves.open()
    valves.write(ValveCommand(1, rig.valves.valves_off))
    for _ in range(20):
        valves.step()
    valves.write(ValveCommand(2, ((True, False), (False, False))))
    while True:
        valves.step()
        sample = valves.read(0)
        if sample and sample.acknowledged_ns == 2:
            print("on", flush=True)

while True:
    try:
        power()
    except LinkLostError:  # a stall of the machine; then the board lets its valves go, too
        continue
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
    found = switched()
    assert found == [(0, True), (0, False)] * (len(found) // 2)


def checked(wire, capsys, *more):
    status = run(["check", *wire.arguments, *more, "--quick", "--json"])
    return status, {item["item"]: item for item in json.loads(capsys.readouterr().out)}


def failed(items):
    return {name for name, item in items.items() if not item["ok"]} - OF_TIME


def stood_still(wire, stalls):
    """Whether this machine, or the simulated rig, did not run for a while."""
    return any(stall.length_ns > WAITED_NS for stall in stalls.take()) or wire.control.ask("lateness")["late"]


def late(items, wire, stalls):
    """Failed checks that name what did not come in time, while this machine, or the simulated rig, did not run."""
    if not stood_still(wire, stalls):
        return set()
    return {
        name
        for name in failed(items)
        if any(word in items[name]["found"] for word in (LOST if name in DEVICES else UNREAD))
    }


@pytest.mark.usefixtures("empty_folder")
def test_check_asks_every_device_and_moves_none(wire, capsys, stalls):
    wire.mend()
    before = wire.control.ask("truth")
    status, items = checked(wire, capsys)
    after = wire.control.ask("truth")
    assert after.get("hit_ns") == before.get("hit_ns")
    assert not list(Path().iterdir())
    unread = late(items, wire, stalls)
    missing = unread & DEVICES
    assert failed(items) == unread, [items[name] for name in failed(items)]
    assert status in ((2,) if missing else (0, 3))
    if "wheel drives" not in missing:
        claws = {name: item for name, item in items.items() if name.startswith("address 0x8")}
        assert len(claws) == 3
        well = "USB Roboclaw 2x15a v4.2.8, 24.0 V, 0.00 A and 0.00 A, no trouble"
        assert all(well in item["found"] for name, item in claws.items() if name not in unread)
    if "data acquisition" not in missing:
        assert "cDAQ1Mod1" in items["NI-DAQ"]["found"]
        assert "released" in items["emergency stop"]["found"]
    if not {"bogie valves", "valves"} & unread:
        assert "0 and 0 kPa" in items["pressures"]["found"]


def test_check_finds_a_wrong_address_and_a_pressed_emergency_stop_and_asks_the_others_all_the_same(
    wire, capsys, stalls
):
    wire.mend()
    wire.press("daq")
    try:
        status, items = checked(wire, capsys, "--set", "devices.drives.controllers.1.address=0x85")
    finally:
        wire.press("daq", pressed=False)
    unread = late(items, wire, stalls)
    read_back = set() if "data acquisition" in unread else {"emergency stop"}
    assert status == 2
    assert failed(items) == unread | {"wheel drives"} | read_back, [items[name] for name in failed(items)]
    assert "0x85" in items["wheel drives"]["found"] or "wheel drives" in unread
    assert {"bogie valves", "valves"} & unread or items["valves"]["ok"]


def test_devices_finds_the_keys_of_the_config(wire, capsys, stalls):
    wire.mend()
    while True:
        assert run(["devices", *wire.arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        keys = [key["found"] for key in found["keys"]]
        if all(keys) or not stood_still(wire, stalls):  # a busy machine: an answer was late, and they are asked again
            break
    assert keys == [True] * 6
    assert "simulated IEPE input" in [device["product"] for device in found["ni"][0]["devices"]]


@pytest.mark.soak  # in virtual time, each `make test` looks at both (tests/protocol)
@pytest.mark.parametrize(
    "arguments",
    [
        ("jog", "--wheel", "middle_right", "--speed", "-0.03", "--for", "0.6"),
        ("valve", "--for", "0.8", "right", "retract"),
    ],
    ids=["jog", "valve"],
)
@pytest.mark.usefixtures("empty_folder")
def test_a_motion_is_made_or_the_summary_says_what_kept_it(wire, capsys, arguments):
    """A busy machine may end the motion in Safe."""
    wire.mend()
    command, *more = arguments
    status = run([command, *wire.arguments, *more, "--yes", "--json", "--out", "run"])
    printed = capsys.readouterr()
    if status == 2:  # it could not start: a device did not answer in time
        assert "no answer" in printed.err or "DAQ" in printed.err
        return
    if "hil: not armed: without real-time rights" in printed.err:
        assert status == 3
        return
    assert printed.out, (status, printed.err)
    summary = json.loads(printed.out)
    assert status in ((1, 3) if summary["reasons"] else (0,))
    assert all(reason.startswith(("fault ", "not armed: ")) for reason in summary["reasons"])
    last = read_trial(Path("run")).tick[-1]
    assert last["safe"] == any(reason.startswith("fault ") for reason in summary["reasons"])
