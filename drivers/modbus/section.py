"""Valves on Modbus coils in a rig config, and how busy their line is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from drivers.device_sections import Baud, EachValve, Port, ValvesSection
from drivers.host import BITS_PER_BYTE
from drivers.section import Section

# Bytes of a transaction, request and answer; a silence of 3.5 characters ends every frame.
_SILENCES = 2 * 3.5
_WRITE_ONE = 8 + 8 + _SILENCES  # function 05
_WRITE_MANY = 10 + 8 + _SILENCES  # function 0F, up to 8 coils
_READ_HEADS = 8 + 5 + _SILENCES  # function 04, without its registers
_REGISTER = 2
_FARTHEST = 60  # registers between the first and the last that are still read in one go


class Coils(EachValve):
    """Coil of each valve, counted from 0."""

    left_extend: int = Field(0, ge=0, le=65535, description="side cylinder left, to extend")
    left_retract: int = Field(1, ge=0, le=65535, description="left, to retract")
    right_extend: int = Field(2, ge=0, le=65535, description="right, to extend")
    right_retract: int = Field(3, ge=0, le=65535, description="right, to retract")


class PressureRegisters(EachValve):
    """Input register of the pressure in each chamber, counted from 0."""

    left_extend: int = Field(ge=0, le=65535, description="side cylinder left, to extend")
    left_retract: int = Field(ge=0, le=65535, description="left, to retract")
    right_extend: int = Field(ge=0, le=65535, description="right, to extend")
    right_retract: int = Field(ge=0, le=65535, description="right, to retract")
    kPa_per_count: float = Field(ge=1e-6, le=1e3, description="of gauge pressure")


class RegulatorRegister(Section):
    """Holding register that sets a proportional regulator."""

    holding_register: int = Field(ge=0, le=65535, description="counted from 0")
    kPa_per_count: float = Field(ge=1e-6, le=1e3, description="of gauge pressure")


class ModbusValves(ValvesSection):
    """Valves on the coils of a relay board or valve terminal, Modbus RTU."""

    driver: Literal["modbus"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(9600, description="of the port")
    address: int = Field(1, ge=1, le=247, description="of the board")
    rate_hz: float = Field(10.0, ge=1, le=200, description="coils written and pressures read a second")
    coils: Coils = Field(default_factory=Coils, description="coil of each valve")
    flash_on: bool = Field(
        False, description="the board switches a valve off unless the command is repeated: a dead-man"
    )
    flash_s: float = Field(0.5, ge=0.1, le=10, description="after so long")
    pressure_registers: PressureRegisters | None = Field(None, description="of the chambers; null: not measured")
    regulator: RegulatorRegister | None = Field(None, description="proportional regulator; null: set by hand")

    @property
    def measures_pressures(self) -> bool:
        """See ValvesSection."""
        return self.pressure_registers is not None

    def line_load(self) -> float:
        """Share of its time that the line carries bytes with all valves powered.

        Each valve is powered again twice in the time of a flash-on.
        """
        each = _WRITE_MANY
        if (registers := self.pressure_registers) is not None:
            span = max(registers.in_order) - min(registers.in_order) + 1
            each += _READ_HEADS + span * _REGISTER if span <= _FARTHEST else 4 * (_READ_HEADS + _REGISTER)
        refreshed = 4 * _WRITE_ONE * 2.0 / self.flash_s if self.flash_on else 0.0
        return (each * self.rate_hz + refreshed) * BITS_PER_BYTE / self.baud
