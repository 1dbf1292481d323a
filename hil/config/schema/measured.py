"""Motors and their supply: limits of what is measured, and motors, currents and supply of a simulated rig."""

from __future__ import annotations

from pydantic import Field, model_validator

from hil.config.schema.base import Section
from models.actuators.gearbox import Gearbox


class MeasuredLimits(Section):
    """Limits of one measured quantity; null: not limited on that side. Near a limit a run is marked, beyond it Safe."""

    safe_below: float | None = Field(None, ge=0, le=1e5, description="below it: Safe")
    warn_below: float | None = Field(None, ge=0, le=1e5, description="below it the run is marked")
    warn_above: float | None = Field(None, ge=0, le=1e5, description="above it the run is marked")
    safe_above: float | None = Field(None, ge=0, le=1e5, description="above it: Safe")

    @model_validator(mode="after")
    def _in_order(self) -> MeasuredLimits:
        values = self.model_dump()
        given = [value for value in values.values() if value is not None]
        if not given or given != sorted(given):
            raise ValueError(f"one or more of {', '.join(values)}, rising in this order")
        return self


class PowerConfig(Section):
    """Motor currents and supply of the simulated rig. All numbers are assumptions."""

    torque_per_A_Nm: float = Field(3.0, ge=0.01, le=1000, description="torque at the axle for each ampere [N m/A]")
    supply_V: float = Field(24.0, ge=1, le=1000, description="voltage of the supply without a load")
    supply_ohm: float = Field(0.05, ge=0, le=10, description="resistance of supply and wires: it droops [Ohm]")


class MotorConfig(Section):
    """The motor of each drive with its gearbox, at the axle; for runs by duty."""

    stall_torque_Nm: float = Field(120.0, ge=0.1, le=1e4, description="at full duty and rest")
    no_load_radps: float = Field(1.0, ge=0.01, le=100, description="speed at full duty without friction and load")


class GearboxConfig(Section):
    """The motor of each drive at its own shaft, and the gear behind it; they give what acts at the axle."""

    ratio: float = Field(129.0, ge=1, le=10000, description="turns of the motor for one of the axle")
    efficiency: float = Field(0.8, ge=0.05, le=1, description="share of the motor's torque that reaches the axle")
    torque_Nm: float = Field(3.0, ge=1e-3, le=1000, description="largest torque of the motor, by its current")
    stall_torque_Nm: float = Field(12.0, ge=1e-3, le=1000, description="of the motor at rest and full voltage")
    no_load_radps: float = Field(314.0, ge=1, le=1e4, description="speed of the motor without a load")
    rotor_kgm2: float = Field(1e-3, ge=0, le=10, description="inertia of the rotor [kg m^2]")

    @property
    def at_axle(self) -> Gearbox:
        """The same numbers for `models`."""
        return Gearbox(*self.model_dump().values())
