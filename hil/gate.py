"""The one gate between controller and wire: nothing reaches a device but through it."""

from __future__ import annotations

import math

from drivers.types import VALVES_OFF
from hil.config import Config
from hil.safety import Fault, Safety
from hil.values import STILL, Command, Request, Tick

# Ticks in a row with a clamped command that are still forgiven.
CLAMPS_ALLOWED = 19


class Gate:
    """Clamps speed and its change, cuts while Safe is latched, and checks last that every number is finite.

    Args:
        config: holds the limits.
        safety: the latch; the gate obeys it and trips it.
    """

    def __init__(self, config: Config, safety: Safety) -> None:
        self._safety = safety
        self._limit = config.limits.wheel_speed_radps
        self._step = config.limits.wheel_acceleration_radps2 / config.loop.rate_hz
        self._last = STILL
        self._row = 0
        self.clamped = 0

    def check(self, tick: Tick, request: Request) -> Command:
        """The command that may go out in this tick."""
        speeds = STILL if request.cut else tuple(map(self._within, request.speed_radps, self._last))
        clamped = speeds != request.speed_radps and not request.cut
        self._row = self._row + 1 if clamped else 0
        self.clamped += clamped
        if self._row > CLAMPS_ALLOWED:
            detail = f"gate: {self._row} commands in a row out of limit"
            self._safety.trip(Fault.COMMAND_OUT_OF_LIMIT, tick.number, tick.t_ns, self._row, CLAMPS_ALLOWED, detail)
        if not all(map(math.isfinite, speeds)):
            detail = f"gate: wheel speeds {request.speed_radps} are not finite"
            self._safety.trip(Fault.COMMAND_OUT_OF_LIMIT, tick.number, tick.t_ns, math.nan, self._limit, detail)
        safe = self._safety.safe
        cut = safe or request.cut
        self._last = STILL if cut else speeds
        return Command(
            state=request.state,
            safe=safe,
            cut=cut,
            speed_radps=self._last,
            valves=VALVES_OFF if safe else request.valves,
            clamped=self.clamped,
        )

    def _within(self, wished: float, last: float) -> float:
        stepped = min(max(wished, last - self._step), last + self._step)
        return min(max(stepped, -self._limit), self._limit)
