"""The base class of every part of a rig config, a wrong key, and the calibration sheets of force sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

# Pattern of a port number: 0 to 65535.
PORT = r"([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
# Pattern of a device server: HOST:PORT, or "" for this computer.
SERVER = rf"^(|[A-Za-z0-9.-]+:{PORT})$"
T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Field(strict=False)]


def is_none(value: object) -> bool:
    """For `exclude_if` of a key that came later: the effective config and its fingerprint lack it while it is null."""
    return value is None


class Section(BaseModel):
    """A frozen part of the config: no unknown keys, no text for numbers, no NaN or infinity.

    Attributes:
        between_runs: keys that an operator may change between two runs (`hil.config.operator_settings`); "*": all keys.
            A key that decides about devices, the shape of a record, limits, or who may operate is not among them.
    """

    between_runs: ClassVar[tuple[str, ...]] = ()

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        revalidate_instances="always",
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; with other values it is checked like a new section. `Config.replace` takes dotted keys.

        Raises:
            pydantic.ValidationError: a value that is not allowed.
        """
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).model_validate({**given, **update})

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            changed = f"config.replace({{'....{name}': {value!r}}})"
            raise AttributeError(f"{name}: a config does not change; {changed} makes another one, and checks it")
        super().__setattr__(name, value)


class Problem(NamedTuple):
    """One wrong key.

    Attributes:
        key: path of the key, dotted.
        found: the value found.
        allowed: the values allowed.
        depends_on: other keys that the check depends on.
    """

    key: str
    found: str
    allowed: str
    depends_on: tuple[str, ...] = ()

    def __str__(self) -> str:
        allowed = self.allowed if self.allowed.startswith("did you mean") else f"allowed: {self.allowed}"
        return f"{self.key}: found {self.found}; {allowed}".removeprefix("(file): ")


# The config key of a sensor's sensitivity, by the kind of its conditioning.
SENSITIVITY = {
    "iepe_force": "sensitivity_mVpN",
    "voltage": "sensitivity_mVpN",
    "bridge": "sensitivity_mVpVpN",
    "charge": "sensitivity_pCpN",
}


CalibrationDate = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-1][0-9]-[0-3][0-9]$", json_schema_extra={"note": "YYYY-MM-DD"})
]


class CalibratedSensor(Section):
    """The calibration sheet of one sensor."""

    serial: str = Field(
        pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$",
        max_length=64,
        description="serial number on the sensor",
        json_schema_extra={"note": "text of up to 64 characters; in quotes if it is a number"},
    )
    sensitivity_mVpN: float | None = Field(None, ge=1e-3, le=1000, description="of an IEPE or voltage sensor")
    sensitivity_mVpVpN: float | None = Field(
        None, ge=1e-6, le=10, description="of a bridge, for each volt of excitation"
    )
    shunt_gain: float | None = Field(
        None,
        ge=0.5,
        le=2,
        description="of a bridge, by what its readings are to be multiplied for what its leads lose; of `hil calibrate "
        "shunt`; null: 1",
    )
    sensitivity_pCpN: float | None = Field(None, ge=1e-3, le=1000, description="of a charge sensor")
    sensitivity_u95: float | None = Field(
        None, ge=0, le=1, description="half-width of its 95 % interval, relative; null: daq.sensitivity_u95"
    )
    droop_s: float | None = Field(
        None, ge=0.01, le=1000, description="time constant of the AC coupling; null: as in daq"
    )
    droop_u95: float | None = Field(
        None, ge=0, le=1, description="half-width of its 95 % interval, relative; null: daq.droop_u95"
    )
    offset_V: float | None = Field(None, ge=-50, le=50, description="reading without force; null: not stated")
    range_N: float | None = Field(None, ge=0.1, le=1e6, description="largest force it measures; null: not stated")
    date: CalibrationDate | None = Field(None, description="of the calibration; null: not stated")


class Calibration(Section):
    """Calibration sheets by sensor."""

    top: CalibratedSensor | None = Field(None, description="of the triangle")
    lower_left: CalibratedSensor | None = Field(None, description="of the triangle")
    lower_right: CalibratedSensor | None = Field(None, description="of the triangle")
    front_left: CalibratedSensor | None = Field(None, description="of the bumper")
    front_right: CalibratedSensor | None = Field(None, description="of the bumper")
    link_left: CalibratedSensor | None = Field(None, description="of the links of the frame")
    link_right: CalibratedSensor | None = Field(None, description="of the links of the frame")


def sensitivity_mVpN(sheet: CalibratedSensor, kind: str, excitation_V: float) -> float | None:
    """Returns the scale of `/daq/raw` [mV/N]; None where the sheet does not state it.

    A bridge is recorded as its output at the set excitation, a charge as 1 mV per pC.
    """
    value: float | None = getattr(sheet, SENSITIVITY[kind])
    if value is None or kind != "bridge":
        return value
    return value * excitation_V / (sheet.shunt_gain or 1.0)
