"""Roboteq wheel drives and servos in a rig config, and how busy their ports are."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from drivers.device_sections import Baud, DrivesSection, Identity, Port, Wheel
from drivers.host import line_time_s
from drivers.section import Listed, Section
from drivers.servo_section import CountedServosSection, Joint

CONTROLLERS = 8
# Bytes of a transaction, request and answer, the longest of each, echo off.
_GO = 11 + 2  # `!G 1 -1000` and `+`
_SPEED = 5 + 9  # `?S 1` and `S=-32768`
_MOVE = 15 + 2  # `!P 1 -10000000` and `+`
_COUNTS = 3 + 23  # `?C` and `C=-10000000:-10000000`
_SLOW = (3 + 14) + (4 + 7) + 2 * (6 + 7)  # ?A, ?FF, ?FM of each channel: once a second


class _RoboteqControllerSection(Section):
    """One dual motor controller on its serial port."""

    port: Port = Field(description="its serial port")
    channel_1: Wheel = Field(description="wheel of its channel 1")
    channel_2: Wheel = Field(description="wheel of its channel 2")
    identity: Identity = ""


class RoboteqDrivesSection(DrivesSection):
    """Wheel drives on Roboteq controllers, ASCII commands; closed-loop speed mode, or open loop for a run by duty."""

    driver: Literal["roboteq"] = Field(description="which driver")
    baud: Baud = Field(115200, description="of every port")
    rate_hz: float = Field(50.0, ge=1, le=500, description="set-points and encoder speeds a second")
    watchdog_ms: int = Field(
        100, ge=80, le=1000, description="without a command for so long a controller stops by itself"
    )
    max_rpm: float = Field(ge=10, le=65535, description="motor speed at command 1000, as set in the controller")
    gear_ratio: float = Field(ge=0.01, le=1e4, description="turns of the motor in a turn of the axle")
    controllers: Listed[_RoboteqControllerSection] = Field((), max_length=CONTROLLERS, description="all of them")
    reversed: Listed[Wheel] = Field((), max_length=16, description="wheels whose motor turns the other way round")

    def port_load(self) -> float:
        """Returns the share of its time that each port carries bytes."""
        return line_time_s(2 * (_GO + _SPEED) * self.rate_hz + _SLOW, self.baud)


class _RoboteqServoControllerSection(Section):
    """One dual motor controller on its serial port, for one joint or two."""

    port: Port = Field(description="its serial port, which is none of the wheel drives'")
    channel_1: Joint | None = Field(None, description="driven joint of its channel 1; null: nothing is connected")
    channel_2: Joint | None = Field(None, description="driven joint of its channel 2; null: nothing is connected")
    identity: Identity = ""


class RoboteqServosSection(CountedServosSection):
    """Servos of driven joints on Roboteq controllers, ASCII commands; closed-loop count position mode."""

    driver: Literal["roboteq"] = Field(description="which driver")
    baud: Baud = Field(115200, description="of every port")
    rate_hz: float = Field(50.0, ge=1, le=500, description="angles commanded and read a second")
    watchdog_ms: int = Field(
        100,
        ge=80,
        le=1000,
        description="written to the controller; in position mode it stops nothing: the newest angle is held",
    )
    controllers: Listed[_RoboteqServoControllerSection] = Field(
        (), max_length=CONTROLLERS, description="all of them; with their output off they do what servos.on_cut says"
    )

    def port_load(self) -> float:
        """Returns the share of its time that each port carries bytes."""
        return line_time_s((2 * _MOVE + _COUNTS) * self.rate_hz + _SLOW, self.baud)
