"""A tick allocates no array: counted in numpy's own allocator, over every stage of the loop process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import ImpactState
from hil.experiments.registry import build_cycle
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_devices import shared_device
from hil.messages.stages import Tick
from hil.processes.link_bridge import LinkBridge, feed_of
from hil.recording.sinks import RingSink
from hil.runtime.rig_io import RigIO
from hil.simulator.simulated_rig import build_simulated_rig

SHORT = (
    "clock=realtime",
    "trial.start_distance_m=0.03",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.5",
    "trial.destress_m=0.01",
    "record.after_s=0.5",
)
MS = 1_000_000


class Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


class Handler(ctypes.Structure):
    """PyDataMem_Handler of numpy's C interface (NEP 49)."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", Allocator)]


# called with the GIL held: numpy's functions release it themselves
MALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
CALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
SET_HANDLER, GET_HANDLER = 304, 305  # positions in numpy's table of functions


KEPT: list[object] = []  # an array is freed by the handler that made it, at any later time


class Counter:
    def __init__(self) -> None:
        self.count = 0


@contextmanager
def counted() -> Iterator[Counter]:
    """Counts the arrays whose data are allocated."""
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    table = ctypes.cast(
        python.PyCapsule_GetPointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p)
    )
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])
    get_handler = ctypes.PYFUNCTYPE(ctypes.py_object)(table[GET_HANDLER])
    place = python.PyCapsule_GetPointer(get_handler(), b"mem_handler")
    theirs = ctypes.cast(place, ctypes.POINTER(Handler)).contents.allocator
    malloc, calloc = MALLOC(theirs.malloc), CALLOC(theirs.calloc)
    counter = Counter()

    def counting_malloc(context, size):
        counter.count += 1
        return malloc(context, size)

    def counting_calloc(context, number, size):
        counter.count += 1
        return calloc(context, number, size)

    ours = MALLOC(counting_malloc), CALLOC(counting_calloc)
    pointers = [ctypes.cast(function, ctypes.c_void_p) for function in ours]
    handler = Handler(b"counting", 1, Allocator(theirs.context, *pointers, theirs.realloc, theirs.free))
    KEPT.append((ours, handler))
    before = set_handler(python.PyCapsule_New(ctypes.addressof(handler), b"mem_handler", None))
    try:
        yield counter
    finally:
        set_handler(before)


def test_the_counter_sees_an_array_made_in_passing():
    """Otherwise the test below would prove nothing."""
    a = np.ones(3)
    with counted() as counter:
        assert float((a + a)[0]) == 2.0
    assert counter.count == 1


@pytest.fixture
def trial(tmp_path):
    """Ticks of a short trial as in the loop process, and the number of arrays allocated in each."""
    config = load_config("sim_impact", SHORT)
    shared = RunMemory(tmp_path, config, {})
    simulated_rig = build_simulated_rig(Rig(config))
    for link in (simulated_rig.devices["daq"], simulated_rig.drives, simulated_rig.devices["valves"]):
        link.open()
    bridge = LinkBridge(
        shared,
        "simulated_rig",
        *(feed_of(shared, link, simulated_rig.devices[link]) for link in config.layout.links),
    )
    devices = RigIO(config.layout, {link: shared_device(shared, link) for link in config.layout.links})
    cycle = build_cycle(Rig(config), devices, RingSink(shared), tmp_path)
    made: dict[int, int] = {}
    states: dict[int, int] = {}
    number = 0
    while not cycle.experiment.over:
        number += 1
        t_ns = number * MS
        simulated_rig.advance(t_ns)
        bridge.publish_samples(t_ns)
        with counted() as counter:
            cycle.run(Tick(number, t_ns, 0, 0))
        bridge.apply_commands(t_ns, t_ns)
        made[number], states[number] = counter.count, cycle.experiment.state
    return cycle, made, states


def test_no_array_is_allocated_in_a_tick(trial):
    cycle, made, states = trial
    assert cycle.experiment.state is ImpactState.DONE
    assert set(states.values()) == set(ImpactState) - {ImpactState.ABORTED, ImpactState.POSTURE}
    # arming reads the sensors once, and an impact is an event: two ticks of the whole run
    once = {
        next(number for number, state in states.items() if state == first)
        for first in (ImpactState.ARMED, ImpactState.IMPACT)
    }
    assert {number for number, count in made.items() if count} <= once
