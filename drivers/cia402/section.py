"""Wheel drives with the profile CiA 402 in a rig config."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from drivers.cia402.protocol import NODES
from drivers.device_sections import Baud, DrivesSection, Identity, Port, Wheel
from drivers.section import Listed, Section


class _Cia402DriveSection(Section):
    """One drive on the bus."""

    node: int = Field(ge=1, le=NODES, description="its number on the bus (node-ID)")
    wheel: Wheel = Field(description="wheel that it drives")
    identity: Identity = ""


class Cia402DrivesSection(DrivesSection):
    """Wheel drives on a CAN bus, CANopen profile CiA 402 in profile velocity mode; the adapter speaks SLCAN."""

    driver: Literal["cia402"] = Field(description="which driver")
    port: Port = Field(description="serial port of the CAN adapter")
    baud: Baud = Field(1_000_000, description="of that port; an adapter on USB ignores it")
    bit_rate: Literal[10_000, 20_000, 50_000, 100_000, 125_000, 250_000, 500_000, 800_000, 1_000_000] = Field(
        1_000_000, description="of the bus [bit/s]"
    )
    rate_hz: float = Field(100.0, ge=1, le=500, description="set-points and encoder speeds a second")
    heartbeat_ms: int = Field(
        100, ge=20, le=1000, description="without our heartbeat for so long a drive switches its motor off by itself"
    )
    own_node: int = Field(NODES, ge=1, le=NODES, description="number of this computer on the bus")
    velocity_unit: Literal["counts_per_s", "rpm"] = Field(
        "counts_per_s", description="of the drives' target velocity (0x60FF), at the motor"
    )
    counts_per_turn: float | None = Field(
        None, ge=1, le=1e9, description="encoder counts (all four edges) of a turn of the motor; null: the unit is rpm"
    )
    gear_ratio: float = Field(ge=0.01, le=1e4, description="turns of the motor in a turn of the axle")
    acceleration_radps2: float | None = Field(
        None, ge=0.01, le=1000, description="ramp of the axle's speed [rad/s^2]; null: as set in the drive"
    )
    measures_power: bool = Field(
        True, description="the drives have currents (0x6075, 0x6078) and the supply voltage (0x6079)"
    )
    controllers: Listed[_Cia402DriveSection] = Field((), max_length=16, description="all drives")
    reversed: Listed[Wheel] = Field((), max_length=16, description="wheels whose motor turns the other way round")
