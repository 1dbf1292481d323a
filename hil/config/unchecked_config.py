"""The whole config of a rig: every number that a run depends on."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from msgspec.structs import replace
from pydantic import (
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from drivers.device_sections import DeviceSection, LoadReading
from drivers.extensions import EXPERIMENTS, installed_names
from drivers.registry import drives_driver
from hil.config.schema.base import Section, bounded, key, section
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.equipment import (
    DrivesConfig,
    LimitsConfig,
    LoopConfig,
    OperatorConfig,
    PlantConfig,
    RealtimeConfig,
    RecordConfig,
    SimLatencyConfig,
    TelemetryConfig,
)
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.experiments import (
    ExperimentSections,
    SoilEstimationConfig,
    extension_section,
    installed_section,
    section_key,
    unused_sections,
)
from hil.config.schema.ground_and_obstacle import GroundConfig, ObstacleConfig, SoilConfig
from hil.config.schema.instruments import EstimationConfig, ImuConfig, JointEncoder, JointsConfig, MotionConfig
from hil.config.schema.loads import LoadsConfig
from hil.config.schema.normal_force import CylindersConfig
from hil.config.schema.residuals import ResidualsConfig
from hil.config.schema.rover import RoverConfig
from hil.config.schema.sensors import NO_DROOP_S, CameraConfig, DaqConfig, DetectorConfig
from hil.config.schema.servos import DrivenJoint, ServosConfig, driven_joints, servo_keys
from hil.config.schema.wheel import WheelConfig, WheelProperties, each_wheel
from hil.config.text_io import write_yaml
from hil.messages.layout import SAMPLED, SOIL_PARAMETERS, Layout, layout_of
from models.rover.own_wheels import OwnWheel, with_own_wheels
from models.rover.parameters import Parameters

# The one supply of a rig that is simulated without its controllers.
SIMULATED = ("rig",)


def measured_supplies(rig: str, devices: DevicesConfig | None) -> tuple[str, ...]:
    """Names of the supply voltages that the rig measures, with the motors' currents; empty: neither."""
    if rig == "simulated":
        return SIMULATED
    drives = devices.drives if devices else None
    return drives_driver(drives).supplies(drives) if drives is not None else ()


def watched_supplies(rig: str, devices: DevicesConfig | None, limits: LimitsConfig) -> tuple[str, ...]:
    """The same where a limit is set; a rig without one neither passes them on nor records them."""
    return measured_supplies(rig, devices) if limits.motor_current_A or limits.supply_V else ()


class UncheckedConfig(ExperimentSections):
    """A rig and a trial on it. Immutable; `load_config` makes one from a file."""

    between_runs: ClassVar[tuple[str, ...]] = ("seed",)

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
        max_length=64,
        description="name of the config; run folders are named after it",
        json_schema_extra={"note": "letters, digits, - and _"},
    )
    rig: Literal["simulated", "simulated_wire", "real"] = Field(
        description="the controlled rig: a model, devices simulated at the protocol level, or real devices"
    )
    clock: Literal["lockstep", "realtime"] = key("lockstep", "virtual time, or the wall clock")
    seed: int = bounded(1, 0, 2**63 - 1, "seed of all random numbers: the plant's spread and the sensors' noise")
    experiment: str = key(
        "impact",
        "impact, jog, drive, follow, stimulus, normal_force, drawbar, slope, walk, sinkage, crossing, capture, or one "
        "of a package",
        note="the name of an experiment",
        pattern=r"^[a-z][a-z0-9_]*$",
        max_length=64,
    )
    loop: LoopConfig = Field(default_factory=LoopConfig)
    realtime: RealtimeConfig = Field(default_factory=RealtimeConfig)
    rover: SerializeAsAny[RoverConfig] = Field(default_factory=RoverConfig)
    ground: GroundConfig = Field(default_factory=GroundConfig)
    soil: SoilConfig = Field(default_factory=SoilConfig)
    wheel: WheelConfig = Field(default_factory=WheelConfig)
    obstacle: ObstacleConfig = Field(default_factory=ObstacleConfig)
    drives: DrivesConfig = Field(default_factory=DrivesConfig)
    cylinders: CylindersConfig = Field(default_factory=CylindersConfig)
    servos: ServosConfig | None = key(None, "null: no joint is driven")
    daq: DaqConfig | None = section(DaqConfig, "null: the rig has no force sensors")
    loads: LoadsConfig | None = key(None, "null: the rig has no leg sensors, load cell and strain gauges")
    motion: MotionConfig | None = key(None, "null: nothing measures the rover's place from outside")
    imu: ImuConfig | None = key(None, "null: the rover has no inertial measurement unit")
    joints: JointsConfig | None = key(None, "null: no joint has an encoder")
    camera: CameraConfig | None = key(None, "null: no camera films the runs")
    estimation: EstimationConfig = Field(default_factory=EstimationConfig)
    soil_estimation: SoilEstimationConfig | None = key(None, "null: the soil counts as that of section soil")
    detector: DetectorConfig = Field(default_factory=DetectorConfig)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    residuals: ResidualsConfig = Field(default_factory=ResidualsConfig)
    links: SimLatencyConfig = Field(default_factory=SimLatencyConfig)
    plant: PlantConfig = Field(default_factory=PlantConfig)
    record: RecordConfig = Field(default_factory=RecordConfig)
    telemetry: TelemetryConfig = Field(default_factory=TelemetryConfig)
    operator: OperatorConfig = Field(default_factory=OperatorConfig)
    extensions: SkipJsonSchema[dict[str, SerializeAsAny[Section]]] = Field(
        default_factory=dict, max_length=100, description="sections of installed experiments"
    )
    devices: DevicesConfig | None = key(None, "which device is at which port; needed unless the rig is simulated")

    @model_validator(mode="before")
    @classmethod
    def _with_extensions(cls, values: Any) -> Any:
        """The section of an installed experiment stands at the top, as those of the others do."""
        names = [] if not isinstance(values, dict) else [name for name in values if name not in cls.model_fields]
        found = set(names) & set(installed_names(EXPERIMENTS)) if names else set()
        if not found:
            return values
        given = {name: values[name] for name in found}
        rest = {name: value for name, value in values.items() if name not in found}
        return {**rest, "extensions": {**rest.get("extensions", {}), **given}}

    @field_validator("extensions", mode="wrap")
    @classmethod
    def _extended(cls, values: Any, check: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(values, dict):
            return check(values)
        check(dict.fromkeys(values, Section()))  # checks their number and their names
        return {name: extension_section(name, section) for name, section in values.items()}

    @model_serializer(mode="wrap")
    def _without_unused(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """All sections but those of other experiments, which make no difference to a run."""
        unused = unused_sections(self.experiment)
        written = write(self)
        return {key: value for key, value in (written | written.pop("extensions", {})).items() if key not in unused}

    @cached_property
    def layout(self) -> Layout:
        """Wheels, cylinders, force channels and load channels of the rig."""
        channels = self.daq.channels if self.daq else ()
        cylinders, loads = self.cylinders, self.loads
        layout = layout_of(
            self.rover.kind.wheels(),
            tuple(channel.name for channel in channels),
            joints=self.rover.kind.cylinder_joints if cylinders.joints is None else cylinders.joints,
            ways=cylinders.ways,
            regulators=cylinders.regulators,
            controls_loads=self.section.controls_loads,
            open_loop=self.section.by_duty,
        )
        layout = replace(
            layout,
            supplies=watched_supplies(self.rig, self.devices, self.limits),
            turning=self._turning,
            servos=self.driven,
            slides=tuple(name for name in self._turning if name in self.rover.kind.sliding()),
            motion=True,
            trigger=self.camera is not None and self.camera.trigger is not None,
            triggers=tuple(self.camera.triggers or ()) if self.camera else (),
            motion_channels=self.motion.channels if self.motion else (),
            imu_channels=self.imu.channels if self.imu else (),
            joints_channels=tuple(encoder.joint for encoder in self.encoders),
            soil_parameters=SOIL_PARAMETERS if self.soil_estimation else (),
            further=tuple((one.role, one.parts) for one in self._device_sections if one.parts),
        )
        if loads is None:
            return layout
        return replace(
            layout,
            loads=loads.channels(layout.wheels),
            leg_sensors=loads.leg_sensors is not None,
            load_cell=loads.load_cell is not None,
            reads_loads=self.load_reading == "N",
        )

    @property
    def _device_sections(self) -> Sequence[DeviceSection]:
        return self.devices.sections() if self.devices else ()

    @property
    def driven(self) -> tuple[str, ...]:
        """Names of the joints that servos drive, in the rover's order; empty: there are none."""
        return () if self.servos is None else tuple(servo_keys(self.servos, self.rover.kind.lockable()))

    @property
    def driven_joints(self) -> tuple[DrivenJoint, ...]:
        """The same with their servos. Raises ValueError: the sizes of the rover are not consistent."""
        tree = self.rover.parameters().tree() if self.servos else None  # it is a third of the time to load a config
        return driven_joints(self.servos, self.rover.kind.lockable(), tree) if tree else ()

    @property
    def _turning(self) -> tuple[str, ...]:
        return self.rover.kind_with(self.driven).turning()

    def rover_parameters(self) -> Parameters:
        """The rover in the models' units, whose driven joints turn.

        Raises ValueError: as `RoverConfig.parameters`; wheels of their own size meet, or the rover does not have them.
        """
        sizes = ((name, (w.radius_m, w.width_m, w.mass_kg, w.crown_radius_m)) for name, w in self.wheels.items())
        changed = {name: OwnWheel(*size) for name, size in sizes if OwnWheel(*size) != OwnWheel()}
        rover = self.rover.parameters(self.driven)
        return with_own_wheels(rover, changed) if changed else rover

    @property
    def wheels(self) -> dict[str, WheelProperties]:
        """The wheels by name, in the rover's order, each with what it alone has."""
        return each_wheel(self.wheel, self.rover.kind.wheels())

    @property
    def load_reading(self) -> LoadReading:
        """Unit of the load channels' readings: V; or N, the load itself, a moment in N m. The driver says which."""
        device = self.devices.loads if self.devices else None
        return device.reads if device else "V"

    @property
    def encoders(self) -> tuple[JointEncoder, ...]:
        """Of the rover's joints, then of its wheels, in the order of the values of a reading; empty: there are none."""
        if self.joints is None:
            return ()
        turning = [name for name in self._turning if name not in self.rover.kind.sliding()]
        given = self.joints.encoders or tuple(JointEncoder(joint=name) for name in turning)
        return tuple(sorted(given, key=lambda one: one.joint in self.rover.kind.wheels()))

    @property
    def instruments(self) -> dict[str, MotionConfig | ImuConfig | JointsConfig]:
        """Sections of the instruments of motion that the rig has, by role."""
        each = {"motion": self.motion, "imu": self.imu, "joints": self.joints}
        return {role: section for role, section in each.items() if section is not None}

    @property
    def needed_instruments(self) -> tuple[str, ...]:
        """Roles of the instruments of motion without which the experiment cannot go on."""
        return self.section.needs_instruments(self.rig)

    @property
    def spared_instruments(self) -> frozenset[str]:
        """Roles of the other instruments that the rig has: a fault of one of them does not lead to Safe."""
        return frozenset(self.instruments) - frozenset(self.needed_instruments)

    @property
    def sample_rates_hz(self) -> dict[str, float]:
        """Rate of the samples of each group of a record [Hz]; 0 where the rig has none."""
        sections = self.daq, self.loads
        return {group: float(one.rate_hz) if one else 0.0 for group, one in zip(SAMPLED, sections, strict=True)}

    @property
    def section(self) -> ExperimentSection:
        """Section of the experiment that runs, which says what it needs of the rig."""
        # not kept: a copy would have the old one
        section = getattr(self, section_key(self.experiment), None)
        if not isinstance(section, ExperimentSection):
            section = self.extensions.get(self.experiment)
        return section if isinstance(section, ExperimentSection) else installed_section(self.experiment)

    @property
    def section_path(self) -> str:
        """Path of that section in the config."""
        return section_key(self.experiment)

    @property
    def pull_unknown(self) -> bool:
        """A winch or a person pulls the rover, and no load cell says how much: wheel loads and slip are not known."""
        return self.section.winch is not None and not self.layout.load_cell

    @property
    def plate(self) -> DaqConfig | None:
        """The sensors that bear the load of the obstacle's plate, if the rig has any: of a triangle, or in links."""
        return self.daq if self.daq and self.daq.layout != "bumper" else None

    @property
    def triangle(self) -> DaqConfig | None:
        """The sensing triangle behind the obstacle's plate, if the rig has one."""
        return self.daq if self.daq and self.daq.layout == "triangle" else None

    @property
    def sensitivities_mVpN(self) -> tuple[float, ...]:
        """Sensitivity of each sensor [mV/N], in the order of `daq.channels`; from its calibration sheet if any."""
        device = self.devices.daq if self.devices else None
        channels = self.daq.channels if self.daq else ()
        sheets = [device.sensitivity_mVpN(channel.name) if device else None for channel in channels]
        return tuple(
            channel.sensitivity_mVpN if sheet is None else sheet
            for channel, sheet in zip(channels, sheets, strict=True)
        )

    @property
    def plate_sensitivities_mVpN(self) -> tuple[float, ...]:
        """The same per newton of the normal force on the plate, of which links of the frame bear a part."""
        share, _ = self.frame_part(self.daq.link if self.daq else None)
        return tuple(share * sensitivity for sensitivity in self.sensitivities_mVpN)

    @property
    def hit_place_u95(self) -> float:
        """Half-width of the 95 % interval of the force sensors' part of the force, relative: `frame_part`."""
        return self.frame_part(self.daq.link if self.daq else None)[1]

    def frame_part(self, link: Literal["rear", "bottom"] | None) -> tuple[float, float]:
        """Part of a wheel's normal force that links of the frame bear, and half-width of its 95 % interval, relative.

        The interval is that of the hit's place and of friction. None: not in links, all of the force.
        """
        daq = self.daq
        if daq is None or link is None:
            return 1.0, 0.0
        from models.sensors.rear_frame import frame_share, link_share, rear_link_reach  # workers do without the models

        angle = math.radians(self.trial.angle_deg)
        share = link_share(link, angle)
        moved = share.turn * daq.hit_place_u95_m / rear_link_reach(angle)
        rubbed = share.grip * daq.friction_u95
        part = frame_share(link, angle, self.wheel_radius_m, daq.sinkage_m, daq.friction)
        return part, math.hypot(moved, rubbed) / part

    @property
    def droops_s(self) -> tuple[float, ...]:
        """Time constant of each sensor's AC coupling [s]; from its calibration sheet if that states it."""
        daq = self.daq
        return self._where_coupled(self._of_sheets("droop_s", daq.droops_s)) if daq else ()

    @property
    def simulated_droops_s(self) -> tuple[float, ...]:
        """The same of the simulated sensors, which know nothing of a sheet [s]."""
        return self._where_coupled(self.daq.droops_s) if self.daq else ()

    def _where_coupled(self, droops_s: Sequence[float]) -> tuple[float, ...]:
        """Time constants, but NO_DROOP_S of an input that is coupled DC."""
        device = self.devices.daq if self.devices else None
        channels = self.daq.channels if self.daq else ()
        return tuple(
            droop_s if device is None or device.droops(channel.name) else NO_DROOP_S
            for channel, droop_s in zip(channels, droops_s, strict=True)
        )

    @property
    def sensitivities_u95(self) -> tuple[float, ...]:
        """Half-width of the 95 % interval of each sensor's sensitivity, relative."""
        daq = self.daq
        return self._of_sheets("sensitivity_u95", [daq.sensitivity_u95 for _ in daq.channels]) if daq else ()

    @property
    def droops_u95(self) -> tuple[float, ...]:
        """Half-width of the 95 % interval of each of `droops_s`, relative."""
        daq = self.daq
        return self._of_sheets("droop_u95", [daq.droop_u95 for _ in daq.channels]) if daq else ()

    def _of_sheets(self, key: str, otherwise: Sequence[float]) -> tuple[float, ...]:
        """A number of each sensor: what its calibration sheet states, or else the given one."""
        device = self.devices.daq if self.devices else None
        channels = self.daq.channels if self.daq else ()
        sheets = [device.sheet(channel.name) if device else None for channel in channels]
        stated = [None if sheet is None else getattr(sheet, key) for sheet in sheets]
        return tuple(given if one is None else one for one, given in zip(stated, otherwise, strict=True))

    @property
    def wheel_radii_m(self) -> tuple[float, ...]:
        """Rolling radius of each wheel: to the tips of its grousers."""
        each = zip(self.wheels.values(), self.rover.wheel_radii_m, strict=True)
        return tuple((rim_m if one.radius_m is None else one.radius_m) + one.tips_m for one, rim_m in each)

    @property
    def wheel_radius_m(self) -> float:
        """Rolling radius of the front wheels, which hit an obstacle; of all wheels unless `wheel.of` says otherwise.

        0 of a vehicle without wheels.
        """
        return next(iter(self.wheel_radii_m), 0.0)

    @property
    def least_wheel_radius_m(self) -> float:
        """Rolling radius of the smallest wheel, which turns fastest; 0 without wheels."""
        return min(self.wheel_radii_m, default=0.0)

    def sha256(self) -> str:
        """Fingerprint of the effective config: SHA-256 of its JSON with sorted keys and no spaces."""
        return fingerprint(self.model_dump(mode="json"))

    def to_yaml(self) -> str:
        """The effective config as YAML, every key present; `load_config` reads it back to an equal one."""
        return write_yaml(self.model_dump(mode="json"))


def fingerprint(values: Any) -> str:
    """SHA-256 of JSON with sorted keys and no spaces; for the values of `Config.to_yaml` it equals `Config.sha256`."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
