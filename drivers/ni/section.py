"""NI-DAQmx devices in a rig config: data acquisition, and valves on digital lines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from drivers.device_sections import DaqSection, EachValve, SensorInput, ValvesSection
from drivers.section import SERVER, Listed, Section

# "port0" in cDAQ1Mod4/port0/line1 is NI's name, not one of our ports.
NiChannel = Annotated[
    str,
    Field(
        pattern=r"^/?[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)+$",
        max_length=100,
        json_schema_extra={"note": "a channel as NI MAX shows it, like cDAQ1Mod1/ai0 or cDAQ1Mod4/port0/line0"},
    ),
]
NiServer = Annotated[
    str,
    Field(
        pattern=SERVER,
        max_length=200,
        json_schema_extra={"note": 'HOST:PORT (at most 65535) of an NI gRPC device server, or "" for this machine'},
    ),
]


class ValveLines(EachValve):
    """Digital output line of each valve."""

    left_extend: NiChannel = Field(description="side cylinder left, to extend")
    left_retract: NiChannel = Field(description="left, to retract")
    right_extend: NiChannel = Field(description="right, to extend")
    right_retract: NiChannel = Field(description="right, to retract")


class PressureInputs(EachValve):
    """Analog input of the pressure in each chamber."""

    left_extend: NiChannel = Field(description="side cylinder left, to extend")
    left_retract: NiChannel = Field(description="left, to retract")
    right_extend: NiChannel = Field(description="right, to extend")
    right_retract: NiChannel = Field(description="right, to retract")
    kPa_per_V: float = Field(ge=1e-3, le=1e5, description="of gauge pressure")


class RegulatorOutput(Section):
    """Analog output that sets a proportional regulator."""

    channel: NiChannel = Field(description="physical channel")
    kPa_per_V: float = Field(ge=1e-3, le=1e5, description="of gauge pressure")


class NiValves(ValvesSection):
    """Valves on digital output lines of an NI device."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    lines: ValveLines = Field(description="line of each valve")
    rate_hz: float = Field(100.0, ge=1, le=1000, description="lines written and pressures read a second")
    watchdog_ms: int | None = Field(
        None, ge=10, le=30000, description="NI's watchdog task switches the valves off after so long; null: none"
    )
    pressure_channels: PressureInputs | None = Field(None, description="of the chambers; null: not measured")
    regulator: RegulatorOutput | None = Field(None, description="proportional regulator; null: set by hand")

    @property
    def measures_pressures(self) -> bool:
        """See ValvesSection."""
        return self.pressure_channels is not None


class NiSensorInput(SensorInput):
    """Where a force sensor is connected."""

    channel: NiChannel = Field(description="physical channel")


class NiDaq(DaqSection):
    """Force sensors on an NI device."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    inputs: Listed[NiSensorInput] = Field((), max_length=3, description="one a sensor")
    excitation_mA: float = Field(4.0, ge=0.1, le=20, description="of IEPE sensors")
    e_stop: NiChannel | None = Field(
        None, description="digital input that is low while the emergency stop is pressed; null: not read back"
    )
