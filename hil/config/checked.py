"""The config of a rig, whose values fit together."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, model_validator

from hil.config.checks.arm_cross_checks import without_wheels_problems
from hil.config.checks.cylinder_cross_checks import cylinder_cross_checks
from hil.config.checks.device_cross_checks import device_cross_checks
from hil.config.checks.endpoint_cross_checks import endpoint_cross_checks
from hil.config.checks.instrument_cross_checks import instrument_cross_checks
from hil.config.checks.limit_cross_checks import limit_cross_checks
from hil.config.checks.load_channel_cross_checks import load_channel_cross_checks
from hil.config.checks.load_cross_checks import load_cross_checks
from hil.config.checks.model_cross_checks import model_cross_checks
from hil.config.checks.residual_cross_checks import residual_cross_checks
from hil.config.checks.sensor_cross_checks import sensor_cross_checks
from hil.config.checks.servo_cross_checks import servo_cross_checks
from hil.config.checks.soil_estimation_cross_checks import soil_estimation_cross_checks
from hil.config.checks.wheel_cross_checks import wheel_cross_checks
from hil.config.model import UncheckedConfig
from hil.config.problems import CrossCheckError
from hil.config.schema.base import Section

if TYPE_CHECKING:
    from models.rover.rover import Rover


class Config(UncheckedConfig):
    """A rig and a trial on it. Immutable; `load_config` makes one from a file."""

    @model_validator(mode="after")
    def _cross_checks(self) -> Config:
        problems = without_wheels_problems(self) or [
            *self.section.problems(self),
            *model_cross_checks(self),
            *wheel_cross_checks(self),
            *cylinder_cross_checks(self),
            *servo_cross_checks(self),
            *load_cross_checks(self),
            *sensor_cross_checks(self),
            *load_channel_cross_checks(self),
            *instrument_cross_checks(self),
            *soil_estimation_cross_checks(self),
            *limit_cross_checks(self),
            *device_cross_checks(self),
            *endpoint_cross_checks(self),
            *residual_cross_checks(self),
        ]
        if problems:
            raise CrossCheckError(problems)
        return self

    def __repr__(self) -> str:
        return f"<Config {self.name}: {self._in_words()}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The config in a notebook: a line, and all keys behind it."""
        line, keys = escape(f"{self.name}: {self._in_words()}"), escape(self.to_yaml())
        return f"<details><summary>config {line}</summary><pre>{keys}</pre></details>"

    def _in_words(self) -> str:
        return f"{self.experiment}, rover {self.rover.type}, rig {self.rig}, {self.clock}, seed {self.seed}"

    def replace(self, values: Mapping[str, Any]) -> Config:
        """A config with other values, checked as a file is; this one stays as it is.

        Args:
            values: by dotted key: {"trial.angle_deg": 50}. A section may be a mapping: the keys that it does not name
                stay as they are. Numbers may be of numpy. Paths of files are relative to the current folder.

        Raises:
            ConfigError: with all problems at once.

        Example:
            >>> from hil.config import load_config
            >>> config = load_config("sim_impact").replace({"trial.angle_deg": 50, "soil": {"cohesion_Pa": 100.0}})
            >>> config.trial.angle_deg, config.soil.cohesion_Pa
            (50.0, 100.0)
        """
        from hil.config.load import change_config  # which imports this class

        return change_config(self, values)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """See `Section.model_copy`; the values are also held against each other. `replace` takes dotted keys."""
        copy = super().model_copy(update=update, deep=deep)
        if update:
            from hil.config.load import possible  # which imports this class

            possible(copy, self.name)
        return copy

    def sharing(self, other: Config) -> Config:
        """An equal config, of which the sections that are equal in another are those: many then take less memory."""
        equal = {
            name: section
            for name, section in other
            if isinstance(section, Section) and section.model_dump_json() == _json_of(getattr(self, name))
        }
        return BaseModel.model_copy(self, update=equal)  # nothing to check: they are equal

    def rover_model(self) -> Rover:
        """The rover of this config as the rover twin has it: with its payload and grousers, locked as on the rig.

        Example:
            >>> from hil.config import load_config
            >>> rover = load_config("sim_impact").rover_model()
            >>> rover.nv, round(float(rover.mass_matrix(rover.neutral())[0, 0]), 1)
            (15, 142.7)
        """
        from hil.config.rig import Rig  # which imports this class; and kernels, which a config does without

        return Rig(self).nominal.make_rover()


def _json_of(section: Section | None) -> str | None:
    return None if section is None else section.model_dump_json()
