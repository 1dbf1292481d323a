"""A rig behind the loop in the loop's own process, and in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hil.app.build import build_cycle, record_meta, simulated_devices
from hil.app.simulated import build_far_end
from hil.app.warm import warm_up
from hil.clock import LockstepClock
from hil.config import Config
from hil.experiments.base import GroundTruth
from hil.journal import Keeper
from hil.loop import Loop
from hil.realtime import Granted
from hil.record import open_recorder
from hil.safety import Event
from hil.telemetry import open_publisher

Say = Callable[[str], None]


class LockstepRig:
    """Everything in one process, in virtual time.

    Args:
        config: of the rig and the trial.
        folder: of the first run.
        say: told what is going on.
        stack: closes it all.
        attended: an operator arms and starts each run.
    """

    def __init__(self, config: Config, folder: Path, say: Say, stack: ExitStack, *, attended: bool = False) -> None:
        self._config, self._attended = config, attended
        publisher = stack.enter_context(open_publisher(config, say))
        recorder = open_recorder(folder, config, record_meta(config, attended=attended))
        self.keeper = Keeper(recorder, publisher)
        stack.callback(self.close_record)
        warm_up(config, say)
        say("settling the rover on its ground")
        self._build(folder)

    def _build(self, folder: Path, latched: Sequence[Event] = ()) -> None:
        config = self._config
        self.far_end = build_far_end(config)
        self.devices = simulated_devices(config, self.far_end)
        self.cycle = build_cycle(config, self.devices, self.keeper, folder, attended=self._attended, latched=latched)
        self.loop = Loop(LockstepClock(self.far_end, config.loop.rate_hz), self.cycle)

    def next_run(self, folder: Path, latched: Sequence[Event]) -> None:
        """See `Rig`: the rover stands at its start place again."""
        recorder = open_recorder(folder, self._config, record_meta(self._config, attended=self._attended))
        self.keeper = self.keeper._replace(recorder=recorder)
        self._build(folder, latched)

    @property
    def truth(self) -> GroundTruth:
        """Of the simulated rig."""
        return self.far_end.plant

    def granted(self) -> Sequence[Granted]:
        """None: there are no other processes."""
        return ()

    def far_end_loop(self) -> dict[str, Any] | None:
        """None: the clock moves it."""
        return None

    def links(self) -> dict[str, Any] | None:
        """None: the rig is simulated in this process."""
        return None

    def begin(self) -> None:
        """Virtual time begins with the first tick."""

    def hold(self) -> None:
        """Virtual time stands still from now on."""

    def close_record(self) -> None:
        """Finish the record."""
        self.keeper.recorder.close()

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Tell viewers how it ended."""
        self.keeper.publisher.trial(summary)
