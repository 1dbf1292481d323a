"""NI-DAQmx devices in a rig config: data acquisition, valves on digital lines, encoders on counters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from drivers.device_sections import (
    DaqSection,
    JointsSection,
    LoadsSection,
    MotionSection,
    MovedRegulators,
    SensorInput,
    TriggerValues,
    ValvesSection,
    ValveValues,
)
from drivers.section import SERVER, Listed, Section, is_none

# Largest output of the analog outputs [V].
MOST_V = 10.0
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


class _ValveLines(ValveValues[str]):
    """Digital output line of each valve."""

    __pydantic_extra__: dict[str, Annotated[NiChannel, Field(description="its line")]] = Field(init=False)


class _TriggerLines(TriggerValues[str]):
    """Digital output line of each trigger line."""

    __pydantic_extra__: dict[str, Annotated[NiChannel, Field(description="its line")]] = Field(init=False)


class _PressureInputs(ValveValues[str]):
    """Analog input of the pressure in each chamber that has a valve."""

    __pydantic_extra__: dict[str, Annotated[NiChannel, Field(description="its input")]] = Field(init=False)
    kPa_per_V: float = Field(ge=1e-3, le=1e5, description="of gauge pressure")


class _RegulatorOutput(Section):
    """Analog output that sets a proportional regulator to cylinders.supply_kPa when the device is opened."""

    channel: NiChannel = Field(description="physical channel")
    kPa_per_V: float = Field(ge=1e-3, le=1e5, description="of gauge pressure")


class _RegulatorOutputs(MovedRegulators[str]):
    """Regulators that are moved during a run, behind analog outputs of 0 to 10 V."""

    __pydantic_extra__: dict[str, Annotated[NiChannel, Field(description="its output")]] = Field(init=False)
    kPa_per_V: float = Field(ge=1e-3, le=1e5, description="of gauge pressure, above zero_V")
    zero_V: float = Field(0.0, ge=0, le=5, description="output at no pressure")

    @property
    @override
    def highest_kPa(self) -> float:
        return (MOST_V - self.zero_V) * self.kPa_per_V


class NiValvesSection(ValvesSection):
    """Valves on digital output lines of an NI device."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    lines: _ValveLines = Field(description="line of each valve")
    rate_hz: float = Field(100.0, ge=1, le=1000, description="pressures read, and regulators written, a second")
    watchdog_ms: int | None = Field(
        None, ge=10, le=30000, description="NI's watchdog task switches the valves off after so long; null: none"
    )
    pressure_channels: _PressureInputs | None = Field(None, description="of the chambers; null: not measured")
    regulator: _RegulatorOutput | None = Field(None, description="proportional regulator; null: set by hand")
    regulators: _RegulatorOutputs | None = Field(
        None, description="those that are moved during a run (cylinders.regulators); null: none"
    )
    camera_trigger: NiChannel | None = Field(
        None, description="digital line of the camera's trigger (camera.trigger); null: there is none"
    )
    camera_triggers: _TriggerLines | None = Field(
        None, description="those of camera.triggers; null: none", exclude_if=is_none
    )

    @property
    @override
    def measures_pressures(self) -> bool:
        return self.pressure_channels is not None

    @property
    @override
    def can_regulate(self) -> bool:
        return True

    @property
    @override
    def can_trigger(self) -> bool:
        return self.camera_trigger is not None


class _NiSensorInput(SensorInput):
    """Where a force sensor is connected."""

    channel: NiChannel = Field(description="physical channel")


class NiDaqSection(DaqSection):
    """Force sensors on an NI device."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    inputs: Listed[_NiSensorInput] = Field((), max_length=3, description="one a sensor")
    excitation_mA: float = Field(4.0, ge=0.1, le=20, description="of IEPE sensors")
    e_stop: NiChannel | None = Field(
        None, description="digital input that is low while the emergency stop is pressed; null: not read back"
    )


class _NiLoadInput(Section):
    """Where a load channel is connected."""

    channel: str = Field(
        min_length=1,
        max_length=100,
        description="name of the load channel",
        json_schema_extra={"note": "a wheel and an axis, like front_left_fz, or pull"},
    )
    input: NiChannel = Field(description="physical channel")
    kind: Literal["voltage", "bridge"] = Field("voltage", description="of its conditioning")


class NiLoadsSection(LoadsSection):
    """Leg sensors and load cell on an NI device, in a separate task."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    inputs: Listed[_NiLoadInput] = Field((), max_length=400, description="one a load channel")
    excitation_V: float = Field(5.0, ge=0.1, le=20, description="of bridges")


# Edges of a pulse that are counted.
EDGES = {"x1": 1, "x2": 2, "x4": 4}
_Decoding = Annotated[
    Literal["x1", "x2", "x4"], Field(description="edges of the two signals that are counted, of each pulse")
]


class NiMotionSection(MotionSection):
    """Draw-wire encoder on a counter of an NI device; it counts from where the rover stands when it is opened."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    counter: NiChannel = Field(description="physical channel")
    decoding: _Decoding = "x4"
    m_per_pulse: float = Field(ge=1e-7, le=0.1, description="length of wire for a pulse of the encoder, from its sheet")
    initial_m: float = Field(0.0, ge=-100, le=100, description="distance when it is opened, at the start place")


class _NiEncoder(Section):
    """The incremental encoder of a joint."""

    joint: str = Field(
        min_length=1,
        max_length=100,
        description="name of the joint",
        json_schema_extra={"note": "one of joints.encoders, or of the rover's joints that turn"},
    )
    counter: NiChannel = Field(description="physical channel")
    pulses_per_turn: int = Field(1024, ge=1, le=10**6, description="of one of its two signals, at the joint")
    initial_deg: float = Field(0.0, ge=-360, le=360, description="reading when it is opened, at rest on level ground")


class NiJointsSection(JointsSection):
    """Incremental encoders of joints on counters of an NI device; they count from where they are opened."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    decoding: _Decoding = "x4"
    encoders: Listed[_NiEncoder] = Field((), max_length=64, description="one a joint")


def chassis_of(channel: str) -> str:
    """The device that is reserved and has the watchdog; for a module of a chassis, the chassis."""
    return channel.lstrip("/").partition("/")[0].partition("Mod")[0]
