"""Writes each tick down: the row, the sensor blocks, the events, and what goes out as telemetry."""

from __future__ import annotations

import time

import numpy as np

from hil.record import Recorder
from hil.rows import TICK
from hil.safety import Event
from hil.telemetry import Publisher
from hil.values import Command, Estimate, Prediction, Samples, Tick


class Scribe:
    """Hands ticks to the recorder and the publisher, and keeps the timing for the summary.

    Args:
        recorder: of this run.
        publisher: of this run.
    """

    def __init__(self, recorder: Recorder, publisher: Publisher) -> None:
        self._recorder, self._publisher = recorder, publisher
        self._row = np.zeros(1, TICK)
        self.impact_ns: int | None = None
        self.saturated = False
        self.work_ns: list[int] = []
        self.plant_ns: list[int] = []

    def record(
        self, tick: Tick, samples: Samples, estimate: Estimate, prediction: Prediction, command: Command
    ) -> None:
        """Keep everything of one tick."""
        for block in samples.blocks:
            self._recorder.block(block.t_ns, block.volts)
        if estimate.impact_ns is not None and self.impact_ns is None:
            self.impact_ns = estimate.impact_ns
            self._recorder.trigger(estimate.impact_ns)
        self.saturated = estimate.saturated
        self._row[0] = (
            tick.number,
            tick.t_ns,
            command.state,
            command.safe,
            command.cut,
            estimate.impact_ns is not None,
            command.clamped,
            command.valves,
            samples.daq_age_ns,
            command.speed_radps,
            estimate.wheel_speed_radps,
            samples.valves.pressure_Pa,
            estimate.force_N,
            sum(estimate.force_N),
            estimate.load_point_m,
            prediction.normal_force_N,
            prediction.sinkage_m,
            prediction.slip,
            prediction.speed_mps,
            prediction.effective_kinetic_energy_J,
            prediction.time_to_impact_s,
        )
        row = self._row[0]
        self._publisher.tick(row)
        work_ns = time.perf_counter_ns() - tick.began_ns
        self.work_ns.append(work_ns)
        self.plant_ns.append(tick.plant_ns)
        self._recorder.tick(row, work_ns, tick.plant_ns)

    def note(self, event: Event) -> None:
        """Keep a fault, and the sensor samples around it unless an impact has claimed them."""
        self._recorder.trigger(event.t_ns)
        for writer in (self._recorder.event, self._publisher.event):
            writer(
                id=int(event.fault),
                name=event.fault.name.lower(),
                tick=event.tick,
                t_ns=event.t_ns,
                value=event.value,
                limit=event.limit,
                reaction_tick=event.tick,
                detail=event.detail,
            )
