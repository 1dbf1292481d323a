"""The slow load channels of a rig: force-torque sensors in its legs, a load cell, strain gauges on the obstacle."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from drivers.device_sections import LoadReading
from drivers.section import CalibrationDate
from hil.config.schema.base import Listed, Section, bounded, key, section

AXES = ("fx", "fy", "fz", "mx", "my", "mz")
PULL = "pull"  # name of the load cell's channel
FRAME = "frame"  # that of the strain gauges
Axis = Literal["fx", "fy", "fz", "mx", "my", "mz"]
Row = Annotated[tuple[Annotated[float, Field(ge=-1, le=1)], ...], Field(strict=False, min_length=6, max_length=6)]
Coefficient = Annotated[float, Field(ge=-1e6, le=1e6)]


class LegSensorsConfig(Section):
    """Force-torque sensors in all legs, all equal (MacMahon 2016, 4.1); axes of the leg: x forward, y to port, z up."""

    axes: Listed[Axis] = key(("fz",), "measured axes of each leg, fz among them", min_length=1, max_length=6)
    force_N: float = bounded(1000.0, 1, 1e5, "force at full scale, where no calibration states it")
    moment_Nm: float = bounded(100.0, 0.1, 1e4, "moment at full scale, likewise")
    height_m: float = bounded(0.3, 0, 2, "of the simulated sensor over the contact of its wheel")
    cross_talk: Annotated[tuple[Row, ...], Field(strict=False, min_length=6, max_length=6)] | None = key(
        None,
        "reading of each axis at the full load of each other one, shares of full scale: six rows, for the "
        "readings fx to mz, of six, for the loads; null: none",
    )
    noise_V: float = bounded(0.002, 0, 1, "standard deviation of each simulated sample")

    @field_validator("axes")
    @classmethod
    def _in_order(cls, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        if "fz" not in axes or len(set(axes)) != len(axes):
            raise ValueError("fz and any others of fx, fy, mx, my, mz, each once")
        return tuple(sorted(axes, key=AXES.index))


class _LoadCellConfig(Section):
    """A load cell at the drawbar."""

    force_N: float = bounded(1000.0, 1, 1e5, "pull at full scale, where no calibration states it")
    sensitivity_u95: float = bounded(0.02, 0, 1, "half-width of the 95 % interval of the sensitivity, relative")
    zero_u95: float = bounded(0.005, 0, 1, "half-width of the 95 % interval of the zero, a share of full scale")
    noise_V: float = bounded(0.002, 0, 1, "standard deviation of each simulated sample")


class StrainGaugesConfig(Section):
    """A bridge of strain gauges on two links of the obstacle's frame (MacMahon 2016, 6.2.2): their compression."""

    link: Literal["rear", "bottom"] = key("rear", "which links of the frame bear the gauges (App. C.2)")
    force_N: float = bounded(1000.0, 1, 1e5, "compression of both links at full scale, where no calibration states it")
    sensitivity_u95: float = bounded(0.02, 0, 1, "half-width of the 95 % interval of the sensitivity, relative")
    bandwidth_hz: float = bounded(200.0, 1, 5000, "of the amplifier, a first-order low-pass")
    noise_V: float = bounded(0.02, 0, 1, "standard deviation of each simulated sample")


class _LoadErrorsConfig(Section):
    """How the simulated load channels differ from what the controller knows of them: standard deviations."""

    zero: float = bounded(0.002, 0, 0.5, "of each bias, a share of full scale: what zeroing leaves")
    drift_per_min: float = bounded(0.0005, 0, 0.1, "of each bias in a minute, a share of full scale")
    gain: float = bounded(0.01, 0, 0.2, "of each sensitivity, relative")
    cross_talk: float = bounded(0.01, 0, 0.2, "of each reading at the full load of another axis, a share of full scale")


class LoadSheet(Section):
    """The calibration of one load channel."""

    serial: str = key("unknown", "serial number on the sensor", max_length=64)
    date: CalibrationDate | None = key(None, "of the calibration; null: not stated")
    offset_V: float = bounded(0.0, -50, 50, "reading with the rover lifted; of `hil calibrate zero`")
    load_per_V: Listed[Coefficient] | None = key(
        None,
        "load of this axis from the readings of all channels of its leg, in the order of "
        "loads.leg_sensors.axes [N/V or N m/V]; of the frame: compression of both links; null: from full scale and "
        "cross-talk",
        min_length=1,
        max_length=6,
    )
    shunt_gain: float | None = bounded(
        None,
        0.5,
        2,
        "by what its readings, less the offset, are multiplied, for what the leads of a bridge lose; "
        "of `hil calibrate shunt`; null: 1",
    )
    offset_N: float = bounded(0.0, -1e6, 1e6, "as offset_V, of a driver that reads loads; of a moment in N m")
    load_per_N: Listed[Coefficient] | None = key(
        None, "as load_per_V, of a driver that reads loads", min_length=1, max_length=6
    )

    def offset(self, reading: LoadReading) -> float:
        """Reading without load, in the unit of the readings."""
        return self.offset_V if reading == "V" else self.offset_N

    def gains(self, reading: LoadReading) -> tuple[float, ...] | None:
        """Load of this axis from the readings, where the sheet states it."""
        return self.load_per_V if reading == "V" else self.load_per_N

    def of_other_unit(self, reading: LoadReading) -> str | None:
        """Name of a number that is for readings of the other unit; None: there is none."""
        other: LoadReading = "N" if reading == "V" else "V"
        if self.gains(other) is not None:
            return f"load_per_{other}"
        return f"offset_{other}" if self.offset(other) else None


class LoadsConfig(Section):
    """Leg sensors, a load cell and strain gauges on a second, slow data acquisition."""

    rate_hz: int = bounded(1000, 10, 10000, "samples a second and channel")
    block_ms: float = bounded(5.0, 1, 100, "samples arrive in blocks of this length")
    range_V: float = bounded(
        10.0,
        1e-3,
        50,
        "full scale, either sign, of readings in volts; where the driver reads loads, full scale is the "
        "load of each sensor, and noise_V counts as a share of this",
    )
    bits: int = bounded(16, 8, 32, "resolution of the converter")
    filter_hz: float = bounded(5.0, 0.1, 1000, "corner of the low-pass on the measured loads")
    lifted_s: float = bounded(
        0.0,
        0,
        600,
        "the run begins with the rover lifted and its legs hanging, and the channels are zeroed for so "
        "long (MacMahon 2016, 6.2.4); 0: offsets of the calibration",
    )
    leg_sensors: LegSensorsConfig | None = key(None, "null: the wheels' loads are not measured")
    load_cell: _LoadCellConfig | None = key(None, "null: the drawbar pull is not measured")
    strain_gauges: StrainGaugesConfig | None = key(
        None, "null: there are none on the obstacle's frame; else a second source of the peak force"
    )
    errors: _LoadErrorsConfig = section(_LoadErrorsConfig, "of the simulated channels, drawn by the seed")
    calibration: dict[str, LoadSheet] | None = key(
        None,
        "calibration of channels, by their names, like front_left_fz, pull or frame",
        max_length=400,
        note="path of a calibration file, seen from the config's folder, or what would be in it",
    )

    @property
    def block_samples(self) -> int:
        """Samples of one channel in a block."""
        return round(self.rate_hz * self.block_ms / 1000.0)

    def channels(self, wheels: tuple[str, ...]) -> tuple[str, ...]:
        """Names of all channels: those of each wheel's leg, then the load cell's, then the strain gauges'."""
        axes = self.leg_sensors.axes if self.leg_sensors else ()
        alone = (PULL,) * (self.load_cell is not None) + (FRAME,) * (self.strain_gauges is not None)
        return (*(f"{wheel}_{axis}" for wheel in wheels for axis in axes), *alone)

    def loads_at_full_scale(self, wheels: tuple[str, ...]) -> list[float]:
        """Load at full scale of each of them [N, N m]."""
        legs = self.leg_sensors
        each = [legs.force_N if axis.startswith("f") else legs.moment_Nm for axis in legs.axes] if legs else []
        return each * len(wheels) + [one.force_N for one in (self.load_cell, self.strain_gauges) if one is not None]

    def noises_V(self, wheels: tuple[str, ...]) -> list[float]:
        """Noise of each of them [V]."""
        legs = [self.leg_sensors.noise_V] * len(wheels) * len(self.leg_sensors.axes) if self.leg_sensors else []
        return legs + [one.noise_V for one in (self.load_cell, self.strain_gauges) if one is not None]

    def sheet(self, channel: str) -> LoadSheet:
        """A channel's calibration; the default where there is none."""
        return (self.calibration or {}).get(channel) or LoadSheet()
