"""The devices of a rig: which hardware is connected to which port, and how it is set up.

Each device's section is that of its driver, which `driver` names (`drivers.registry`). What a device measures or moves
(sensors, gains, limits) is in other sections, and the same for a simulated rig; here is only what a
driver needs to connect to it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from drivers.device_sections import (
    DaqSection,
    DeviceSection,
    DrivesSection,
    ImuSection,
    JointsSection,
    LoadsSection,
    MotionSection,
    ServosSection,
    ValvesSection,
)
from drivers.extensions import ExtensionError
from drivers.registry import built_in, driver_type
from hil.config.problems import CrossCheckError, Problem
from hil.config.schema.base import Section, checked_below
from hil.messages.layout import ROLES, Role


class _DriverSectionCheck:
    """Checks the section of a device with the settings class of the driver that it names.

    The built-in drivers are the choices of a union, which the JSON schema shows; a driver from an installed package is
    looked up when it is named.
    """

    def __init__(self, role: str) -> None:
        self._role = role

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {kind.name: handler.generate_schema(kind.settings) for kind in built_in(self._role)}
        union = (
            core_schema.tagged_union_schema(choices, discriminator="driver")
            if choices
            else handler.generate_schema(DeviceSection)
        )
        as_it_is = core_schema.wrap_serializer_function_ser_schema(
            lambda section, dump: dump(section), schema=core_schema.any_schema()
        )
        return core_schema.no_info_wrap_validator_function(self._checked, union, serialization=as_it_is)

    def _checked(self, values: Any, check: core_schema.ValidatorFunctionWrapHandler) -> Any:
        name = values.driver if isinstance(values, DeviceSection) else None
        name = values.get("driver") if isinstance(values, dict) else name
        if not isinstance(name, str) or any(kind.name == name for kind in built_in(self._role)):
            return check(values)
        try:
            kind = driver_type(self._role, name)
        except ExtensionError as error:
            raise CrossCheckError([Problem(f"devices.{self._role}.driver", repr(name), str(error))]) from error
        if kind is None:
            return check(values)
        return checked_below(name, kind.settings, values)


def _key_of(name: str, role: Role) -> Any:
    return Annotated[DeviceSection, _DriverSectionCheck(name)] | None, Field(None, description=f"the {role.title}")


# Roles whose sections are typed below; every other role of the table has its key by that table.
_TYPED = ("drives", "valves", "daq", "loads", "motion", "imu", "joints", "servos")
_Further: Any = create_model(
    "_Further", __base__=Section, **{name: _key_of(name, role) for name, role in ROLES.items() if name not in _TYPED}
)


class DevicesConfig(_Further, Section):  # mypy knows the further keys as Any
    """All devices that the rig has; none is needed if `rig` is simulated."""

    drives: Annotated[DrivesSection, _DriverSectionCheck("drives")] | None = Field(None, description="the wheel drives")
    valves: Annotated[ValvesSection, _DriverSectionCheck("valves")] | None = Field(
        None, description="the valves of the cylinders"
    )
    daq: Annotated[DaqSection, _DriverSectionCheck("daq")] | None = Field(None, description="the force sensors")

    loads: Annotated[LoadsSection, _DriverSectionCheck("loads")] | None = Field(
        None, description="the leg sensors and the load cell"
    )
    motion: Annotated[MotionSection, _DriverSectionCheck("motion")] | None = Field(
        None, description="the instrument that measures the rover's place from outside"
    )
    imu: Annotated[ImuSection, _DriverSectionCheck("imu")] | None = Field(
        None, description="the inertial measurement unit"
    )
    joints: Annotated[JointsSection, _DriverSectionCheck("joints")] | None = Field(
        None, description="the encoders of the rover's joints"
    )
    servos: Annotated[ServosSection, _DriverSectionCheck("servos")] | None = Field(
        None, description="the servos of the driven joints"
    )

    def sections(self) -> list[DeviceSection]:
        """The sections that are present."""
        return [section for name in type(self).model_fields if (section := getattr(self, name)) is not None]
