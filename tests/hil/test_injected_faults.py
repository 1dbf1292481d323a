"""Each kind of fault, injected into a device of a rig in lockstep, is noticed as the fault of the table that it is."""

from __future__ import annotations

import pytest

from drivers.faults import KINDS, DeviceFault, FaultyDevice
from hil.config import load_config
from hil.experiments.build_cycle import build_cycle
from hil.messages.fault import Fault
from hil.runtime.clock import LockstepClock
from hil.runtime.rig_io import RigIO
from hil.safety.fault_table import FAULT_TABLE
from hil.simulator.build import build_simulated_rig

# The sensors are zeroed and all devices have answered; the rover stands.
BEFORE_TICKS = 50
MOST_TICKS = 1500
CASES = [
    ("daq", DeviceFault("off"), Fault.SENSOR_DROPOUT),
    ("daq", DeviceFault("intermittent", ms=50.0), Fault.SENSOR_DROPOUT),
    ("daq", DeviceFault("slow", every=20), Fault.SENSOR_DROPOUT),
    ("daq", DeviceFault("delayed", ms=50.0), Fault.SENSOR_DROPOUT),
    ("daq", DeviceFault("stuck"), Fault.SENSOR_STALE),
    ("daq", DeviceFault("garbage"), Fault.SAMPLE_NOT_FINITE),
    ("daq", DeviceFault("wrong", factor=1e6), Fault.ADC_SATURATED),
    ("drives", DeviceFault("off"), Fault.SENSOR_STALE),
    ("drives", DeviceFault("stuck"), Fault.SENSOR_STALE),
    ("drives", DeviceFault("delayed", ms=300.0), Fault.SENSOR_STALE),
    ("drives", DeviceFault("garbage"), Fault.SAMPLE_NOT_FINITE),
    ("drives", DeviceFault("wrong", factor=1e300), Fault.MODEL_NOT_FINITE),
    ("valves", DeviceFault("off"), Fault.SENSOR_STALE),
]


class NoRecord:
    """Takes a record and keeps nothing of it."""

    def __getattr__(self, name):
        return lambda *_, **__: None


def test_every_kind_is_among_the_cases():
    assert {fault.kind for _, fault, _ in CASES} == set(KINDS)


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", ["telemetry.endpoint=''", "limits.frozen_samples=3000"])


@pytest.mark.parametrize(("device", "fault", "noticed"), CASES, ids=[f"{name}_{how.kind}" for name, how, _ in CASES])
def test_a_fault_is_noticed_as_what_it_is_within_its_bound_and_nothing_before_it(config, device, fault, noticed):
    simulated_rig = build_simulated_rig(config)
    wrapped = {name: FaultyDevice(getattr(simulated_rig, name)) for name in ("daq", "drives", "valves")}
    devices = RigIO(config.layout, wrapped["daq"], wrapped["drives"], wrapped["valves"])
    devices.open()
    cycle = build_cycle(config, devices, NoRecord(), None)
    clock, safety = LockstepClock(simulated_rig, config.loop.rate_hz), cycle.safety
    for _ in range(BEFORE_TICKS):
        cycle.run(clock.next())
    assert [*safety.events, *safety.warnings] == []
    wrapped[device].inject_fault(fault)
    for _ in range(MOST_TICKS):
        cycle.run(clock.next())
        if found := [*safety.events, *safety.warnings]:
            break
    assert found[0].fault is noticed
    if fault.kind != "wrong":  # its cause is the first force that a wrong factor takes to full scale
        ticks = found[0].tick - BEFORE_TICKS
        assert ticks * 1e3 / config.loop.rate_hz <= FAULT_TABLE[noticed].bound_for(config, device)
