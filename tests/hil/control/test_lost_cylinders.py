"""Cylinders are lost at once while the simulated rig drives on sand: no wheel's load leaves its bounds.

A lost cylinder's torque, and that of each other one until the valves are off, is between none and what it was at the
fault; with on-off valves, whose pulses fill the chambers, it is at most what the supply gives in that direction. So
each wheel's load is between the least and the largest that statics give for torques in these ranges, around its passive
load. `make fuzz` looks for new examples.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.messages import ValveCommand
from hil.config import load_config
from hil.config.cylinder_parameters import cylinder_forces
from hil.config.rig import Rig
from hil.experiments.registry import build_cycle
from hil.runtime.loop import LockstepClock
from hil.runtime.rig_io import RigIO
from hil.simulator.simulated_rig import build_simulated_rig
from models.actuators.linkage import reachable
from models.rover import rcp
from models.statics import RoverStatics

pytestmark = pytest.mark.slow

MS = 1_000_000
PASSIVE_S, ACTIVE_S, FAULTY_S, RELEASED_S = 1.0, 1.2, 0.6, 1.4
# Beyond what statics say, of 250 N that the cylinders move: stick-slip holds 4 N m at each cylinder, and the rover
# sinks and slips differently under other loads. All loads are means over 0.1 s.
TOLERANCE_N = 60.0
# How near the loads come to the passive ones once all valves are off, with that friction; found: 3 to 20.
PASSIVE_AGAIN_N, PRESSURELESS_PA = 30.0, 2e3
# With on-off valves: mean torques over 0.1 s of two cycles, and from which on a cylinder pushes one way.
PULSED_ROWS, PUSHES_NM = 5, 1.0
DEAD_MAN_NS = 20 * MS
RIGS = {
    "each": (),
    "none": ("cylinders.regulators=none",),
}
MODES = {
    "uniform": "mode: uniform",
    "share": "mode: share, share: [0.2, 0.14, 0.2, 0.14, 0.16, 0.16]",
    "max_traction": "mode: max_traction",
    "unload": "mode: unload, wheel: middle_right",
    "hold": "mode: hold",
}
LOSSES = ("stuck", "leaking", "lost_worker")
EXAMPLES = 100 if os.environ.get("HIL_FUZZ") else 4
# Half the usual rate: the bounds do not depend on it, and an example takes 0.3 s.
RATE_HZ = 500
LOST = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(LOSSES)), min_size=1, max_size=3, unique_by=lambda one: one[0]
)


class LossyValves:
    """The simulated valves; from a fault on some of them do not do what they are told.

    stuck: both valves of a cylinder stay as they are; leaking: they vent a third of the time; lost_worker: no cylinder
    gets commands, nothing is read, and the device's dead-man switches all valves off.
    """

    name = "valves that fail"

    def __init__(self, valves) -> None:
        self._valves = valves
        self._before = ()
        self._frozen: dict[int, tuple[bool, bool]] = {}
        self._leaking: set[int] = set()
        self.lost_ns: int | None = None
        self._t_ns = 0

    def lose(self, cylinder: int, how: str) -> None:
        if how == "stuck":
            self._frozen[cylinder] = self._before[cylinder]
        elif how == "leaking":
            self._leaking.add(cylinder)
        else:
            self.lost_ns = self._t_ns

    def stuck_on(self) -> set[int]:
        return {cylinder for cylinder, valves in self._frozen.items() if any(valves)}

    def write(self, command: ValveCommand) -> None:
        self._before = command.powered
        if self.lost_ns is None:
            self._obey(command)

    def _obey(self, command: ValveCommand) -> None:
        valves = list(command.powered)
        for cylinder in self._leaking:
            if self._t_ns // MS % 3 == 0:  # it vents a third of the time
                valves[cylinder] = (False, False)
        for cylinder, stays in self._frozen.items():
            valves[cylinder] = stays
        self._valves.write(ValveCommand(command.t_ns, tuple(valves), command.regulators_Pa))

    def read(self, t_ns: int):
        self._t_ns = t_ns
        if self.lost_ns is None:
            return self._valves.read(t_ns)
        if t_ns - self.lost_ns >= DEAD_MAN_NS:
            self._obey(ValveCommand(t_ns, ((False, False),) * 3, (0.0,) * 3))
        return None

    def __getattr__(self, name):
        return getattr(self._valves, name)


class NoRecord:
    """Takes a record and keeps nothing of it."""

    def __getattr__(self, name):
        return lambda *_, **__: None


def start(regulators: str, mode: str):
    """A run that drives, is passive first, and then in this mode."""
    steps = [f"{{for_s: {PASSIVE_S}, mode: passive}}", f"{{for_s: {ACTIVE_S + FAULTY_S}, {MODES[mode]}}}"]
    if mode == "hold":
        active = f"{{for_s: {ACTIVE_S - 0.1}, mode: uniform}}, {{for_s: {FAULTY_S + 0.1}, mode: hold}}"
        steps[1] = active
    steps.append("{for_s: 9, mode: passive}")
    config = load_config(
        "sim_normal_force",
        ["telemetry.endpoint=''", "normal_force.torque_slew_Nmps=240", f"loop.rate_hz={RATE_HZ}", *RIGS[regulators],
         f"normal_force.steps=[{', '.join(steps)}]"],
    )  # fmt: skip
    rig = build_simulated_rig(Rig(config))
    valves = LossyValves(rig.devices["valves"])
    devices = RigIO(config.layout, {"drives": rig.drives, "valves": valves})
    devices.open()
    cycle = build_cycle(Rig(config), devices, NoRecord(), None)
    clock = LockstepClock(rig, config.loop.rate_hz)

    def run(seconds: float):
        first = len(rig.plant.loads)
        for _ in range(round(seconds * config.loop.rate_hz)):
            cycle.run(clock.next())
        return rig.plant.loads[first:, 1:7], rig.plant.loads[first:, 7:]

    return config, run, valves, rig.plant


def influence(config):
    rover = rcp()
    statics = RoverStatics(rover)
    return statics.influence(rover.neutral())[:, statics.columns(config.layout.joints)]


@pytest.mark.ci_cases("each-uniform", "none-share")
@pytest.mark.parametrize(
    ("regulators", "mode"), [*(("each", mode) for mode in MODES), ("none", "uniform"), ("none", "share")]
)
@settings(max_examples=EXAMPLES)
@given(lost=LOST, later_s=st.floats(0.0, 0.2))
def test_no_load_leaves_its_bounds_when_cylinders_are_lost_and_valves_off_is_passive(regulators, mode, lost, later_s):
    config, run, valves, plant = start(regulators, mode)
    passive_N = run(PASSIVE_S)[0][-1]
    torques_Nm = run(ACTIVE_S + later_s)[1]
    for cylinder, how in lost:
        valves.lose(cylinder, how)
    least_Nm, most_Nm = np.minimum(torques_Nm[-1], 0.0), np.maximum(torques_Nm[-1], 0.0)
    if regulators == "none":
        forces = cylinder_forces(config.cylinders, config.layout)
        ends_Nm = np.array([reachable(forces, cylinder, 0.0) for cylinder in range(3)]).T
        cycles_Nm = torques_Nm[-PULSED_ROWS:]
        least_Nm = np.where(cycles_Nm.min(axis=0) < -PUSHES_NM, ends_Nm[0], 0.0)
        most_Nm = np.where(cycles_Nm.max(axis=0) > PUSHES_NM, ends_Nm[1], 0.0)
    change = influence(config)
    low, high = np.sort(np.stack([change * least_Nm, change * most_Nm]), axis=0).sum(axis=2)
    loads, _ = run(FAULTY_S - later_s + RELEASED_S)
    assert (loads >= passive_N + low - TOLERANCE_N).all()
    assert (loads <= passive_N + high + TOLERANCE_N).all()
    if regulators == "each" or not valves.stuck_on():
        assert plant.pressure.max() < PRESSURELESS_PA
        assert loads[-1] == pytest.approx(passive_N, abs=PASSIVE_AGAIN_N)
