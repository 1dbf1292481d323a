"""The loop's part of a rig config: its rate, and the rights that it asks for."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hil.config.schema.base import Section


class LoopConfig(Section):
    """The fixed-step control loop."""

    rate_hz: int = Field(1000, ge=100, le=4000, description="ticks a second")


class RealtimeConfig(Section):
    """Rights that the loop requests with the realtime clock. A refusal is reported once, and the run continues."""

    fifo_priority: int = Field(80, ge=0, le=98, description="SCHED_FIFO priority of the loop, 0: ordinary scheduling")
    lock_memory: bool = Field(True, description="keep all memory in RAM")
    awake: bool = Field(True, description="keep idle processors out of deep sleep states")
    spin_share: float = Field(0.0, ge=0, le=0.2, description="share of the period spent spinning for the deadline")
    cpus: Annotated[tuple[Annotated[int, Field(ge=0, le=4095)], ...], Field(strict=False)] = Field(
        (), max_length=64, description="numbers of the processors that the loop may run on; empty: any"
    )
    timer_slack_us: float = Field(
        1.0, ge=0.001, le=1000, description="timer slack: how late the kernel may wake the loop without SCHED_FIFO"
    )
    measure_s: float = Field(
        1.0,
        ge=0,
        le=60,
        description="without SCHED_FIFO, wake-ups are measured for this time before arming; 0: not measured",
    )
