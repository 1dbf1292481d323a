"""The plant of a simulated rig, in real time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

import numpy as np

from drivers.host import COMPUTER, Host
from hil.config.rig import Rig
from hil.ipc.run_memory import LatenessLog
from hil.processes.lifecycle import Reporter
from hil.realtime import RightsWanted, rights
from hil.realtime.rights import monotonic_sleeper
from hil.simulator.memory import COMMANDS_KEPT, RESET, RESET_DONE, ReadingsPublisher, SimulatorMemory
from hil.simulator.sampled_memory import PlantRounds, SamplePublisher
from hil.simulator.simulated_rig import (
    BELOW_LOOP,
    GroundTruthPublisher,
    build_plant,
    build_simulated_rig,
    power_model,
    warm_up_simulated_rig,
)
from models.plant import Plant

# The values that take longer to compute are published after so many rounds.
FINAL_EVERY = 1000
# The plant keeps its samples for at least 80 ms, so it publishes them after at most this time [ns].
LEAP_NS = 50_000_000
# The most that a round is expected to take, wake-up included [ns].
TAKES_NS = 500_000


# Builds a new plant in a background thread, or at once.
Aside: TypeAlias = Callable[[Callable[[], Plant]], "Future[Plant]"]


def at_once(build: Callable[[], Plant]) -> Future[Plant]:
    """An `Aside` for virtual time, where computing takes no time."""
    done: Future[Plant] = Future()
    done.set_result(build())
    return done


class RealtimePlant:
    """A plant that moves in rounds, publishes its state, and can be put back to the start.

    A command acts at the time at which its device took it, wherever that lies in a round. Its t = 0 is `start_ns` [ns
    of CLOCK_MONOTONIC]. `aside` builds a new plant while this one keeps running, so that connected drivers miss no
    sample.

    Attributes:
        rounds: when they are due.
        plant: the present one.
        truth_publisher: of what only this process knows.
    """

    def __init__(self, memory: SimulatorMemory, start_ns: int, host: Host = COMPUTER, aside: Aside = at_once) -> None:
        self._memory, self._config, self._host = memory, memory.config, host
        self._start_ns = self._offset_ns = start_ns
        self._seen = 0  # of the requests to put the rover back
        rings = memory.wheel_commands, memory.valve_commands, memory.servo_commands
        self._commands = [ring.reader("plant") for ring in rings]
        boxes = memory.wheels, memory.pressures, memory.servos
        self._wheels, self._pressures, self._servos = (np.zeros(1, box.dtype) for box in boxes)
        self._reset_command, self._reset_done = np.zeros(1, RESET), np.zeros(1, RESET_DONE)
        rates_hz = self._config.sample_rates_hz
        self._published = {
            group: SamplePublisher(part, int(rates_hz[group]), start_ns) for group, part in memory.sampled.items()
        }
        self._instruments = {role: ReadingsPublisher(box) for role, box in memory.readings.items()}
        self.rounds = PlantRounds(memory.sampled["daq"], int(rates_hz["daq"]), start_ns)
        self._aside, self._power = aside, power_model(self._config.drives)
        servos = self._config.servos
        self._servo_torque_per_A = servos.torque_per_A_Nm if servos else 1.0
        self._built: Future[Plant] | None = None
        self.plant = build_plant(Rig(self._config))
        self.truth_publisher = GroundTruthPublisher(memory.ground_truth, self.plant, start_ns, memory.histories)

    def round(self, now_ns: int) -> bool:
        """Advance to a time [ns of CLOCK_MONOTONIC]; True if the rover was put back to its start instead."""
        memory, plant, layout = self._memory, self.plant, self._config.layout
        if self._built is None and (version := memory.reset.read(self._reset_command)) > self._seen:
            self._seen = version
            self._built = self._begin_to_put_back()
        if self._built is not None and self._built.done():
            self.plant, self._built = self._built.result(), None
            self._reset()
            return True
        before_ns, t_ns = plant.t_ns, now_ns - self._offset_ns
        speed_before, angles_before = plant.wheel_speed, plant.servo_angle
        new = chain.from_iterable(cursor.read(COMMANDS_KEPT) for cursor in self._commands if cursor.depth)
        for command in sorted(new, key=itemgetter("t_ns")):
            self._advance(plant, min(int(command["t_ns"]) - self._offset_ns, t_ns))
            self._obey(plant, command)
        self._advance(plant, t_ns)
        self._wheels["speed_radps"] = plant.read_wheel_speed()
        self._wheels["angle_rad"] += 0.5 * (speed_before + plant.wheel_speed) * (plant.t_ns - before_ns) * 1e-9
        currents_A = self._power.currents_A(plant.drive_torque.tolist())
        self._wheels["current_A"], self._wheels["supply_V"] = currents_A, self._power.voltage_V(currents_A)
        self._pressures["pressure_Pa"][0, :-1] = layout.valve_layout.by_valve(plant.read_pressure().tolist())
        memory.wheels.write(self._wheels)
        memory.pressures.write(self._pressures)
        if layout.servos:
            angles, passed_s = plant.servo_angle, (plant.t_ns - before_ns) * 1e-9
            self._servos["speed_radps"][0, :-1] = (angles - angles_before) / passed_s if passed_s else 0.0
            self._servos["angle_rad"][0, :-1] = angles
            self._servos["current_A"][0, :-1] = plant.servo_torque / self._servo_torque_per_A
            memory.servos.write(self._servos)
        self._hand_out(plant)
        return False

    def _obey(self, plant: Plant, command: np.void) -> None:
        """Apply a command to the wheels, to the driven joints or to the valves."""
        layout = self._config.layout
        if "servo_cut" in (command.dtype.names or ()):
            cut = command["servo_cut"][:-1].astype(bool)
            plant.set_each_servo(command["angle_rad"][:-1].tolist(), cut.tolist())
            return
        if "cut" in (command.dtype.names or ()):
            duty = command["duty"].tolist() if layout.open_loop else ()
            plant.set_each_drive(command["speed_radps"].tolist(), command["cut"].tolist(), duty)
            return
        plant.set_valves(layout.valve_layout.by_cylinder(command["powered"][:-1].astype(bool).tolist(), without=False))
        if layout.regulators:
            plant.set_regulators(command["regulators_Pa"][:-1].tolist())

    def _advance(self, plant: Plant, t_ns: int) -> None:
        """Advance the plant to the end of one of its rounds [ns]."""
        while t_ns - plant.t_ns > LEAP_NS:  # this process was not scheduled: it logs the lateness and catches up
            plant.advance(plant.t_ns + LEAP_NS)
            self._hand_out(plant)
        plant.advance(t_ns)

    def _hand_out(self, plant: Plant) -> None:
        """Publish the samples taken since the last round for the data acquisition."""
        now_ns = self._host.now_ns()
        # the next round will take about as long as this one, but for a process that was not scheduled
        next_ns = self.rounds.following_ns + min(now_ns - self.rounds.due_ns, TAKES_NS)
        self._published["daq"].hand_out(plant, now_ns, next_ns)
        if plant.load_sampling is not None:
            self._published["loads"].hand_out(plant.load_sampling, now_ns, next_ns)
        for role, instrument in plant.instruments.items():
            self._instruments[role].hand_out(instrument, self._offset_ns)

    def _begin_to_put_back(self) -> Future[Plant]:
        """Build the rover at its start, with the requested seed and obstacle angle."""
        angle, seed = self._reset_command[0].tolist()

        def build() -> Plant:
            with _ordinary():
                turned = {"trial.angle_deg": angle} if self._config.section.obstacle else {}
                return build_plant(Rig(self._config.replace({"seed": int(seed), **turned})))

        return self._aside(build)

    def _reset(self) -> None:
        """Replace the old rover by the new one; sampling continues."""
        self._offset_ns = self._host.now_ns()
        # from the next whole sample on, of the slowest where there are several
        sampled = sorted(
            (published for published in self._published.values() if published.rate_hz),
            key=lambda published: published.rate_hz,
        )
        if sampled:
            self._offset_ns = sampled[0].next_ns(self._offset_ns)
        for published in sampled:
            published.begin_again(self._offset_ns)
        for readings in self._instruments.values():
            readings.begin_again()
        memory = self._memory
        self.truth_publisher = GroundTruthPublisher(memory.ground_truth, self.plant, self._offset_ns, memory.histories)
        self._reset_done["version"] = self._seen
        self._memory.reset_done.write(self._reset_done)


@contextmanager
def _ordinary() -> Iterator[None]:
    """Ordinary scheduling for work of a second: the kernel does not let a real-time process run for so long.

    It would then stop all real-time processes of the processor for 50 ms, and a simulated line would answer late.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    if policy == os.SCHED_OTHER:
        yield
        return
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, policy, parameters)


def run_plant(lifecycle: Reporter, folder: Path) -> None:
    """Run the plant until this process is asked to end."""
    memory = SimulatorMemory(folder)
    rig, wanted = Rig(memory.config), memory.config.realtime
    warm_up_simulated_rig(rig, build_simulated_rig(rig))
    asked = RightsWanted(
        fifo_priority=max(wanted.fifo_priority - BELOW_LOOP, 1) if wanted.fifo_priority else 0,
        lock_memory=wanted.lock_memory,
        freeze_gc=True,
    )
    with rights(asked) as granted, ThreadPoolExecutor(max_workers=1) as builder:
        realtime, sleep_until = RealtimePlant(memory, time.monotonic_ns(), aside=builder.submit), monotonic_sleeper()
        moved, rounds = LatenessLog(memory.late["plant"]).of("plant"), realtime.rounds
        lifecycle.ready(granted)
        while not lifecycle.ending:
            due_ns = rounds.next_ns(time.monotonic_ns())
            sleep_until(due_ns)
            began_ns = time.monotonic_ns()
            if realtime.round(began_ns):
                rounds.begin_again(time.monotonic_ns())
                continue
            done_ns = time.monotonic_ns()
            moved(due_ns, done_ns)
            realtime.truth_publisher.publish(rounds, done_ns - began_ns)
            if rounds.ticks % FINAL_EVERY == 0:
                realtime.truth_publisher.publish_final()
