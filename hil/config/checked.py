"""The config of a rig, whose values fit together."""

from __future__ import annotations

from pydantic import model_validator

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
from hil.config.model import UncheckedConfig
from hil.config.problems import CrossCheckError


class Config(UncheckedConfig):
    """A rig and a trial on it. Immutable; `load_config` makes one from a file."""

    @model_validator(mode="after")
    def _cross_checks(self) -> Config:
        problems = [
            *self.section.problems(self),
            *model_cross_checks(self),
            *cylinder_cross_checks(self),
            *load_cross_checks(self),
            *sensor_cross_checks(self),
            *load_channel_cross_checks(self),
            *instrument_cross_checks(self),
            *limit_cross_checks(self),
            *device_cross_checks(self),
            *endpoint_cross_checks(self),
            *residual_cross_checks(self),
        ]
        if problems:
            raise CrossCheckError(problems)
        return self
