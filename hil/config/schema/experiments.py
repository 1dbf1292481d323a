"""Sections of the experiments that come with this program, and which of them an experiment uses."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pydantic import Field

from drivers.extensions import ExtensionError
from hil.config.schema.base import Section
from hil.config.schema.capture import CaptureConfig
from hil.config.schema.crossing import CrossingConfig
from hil.config.schema.drive import DriveConfig, JogConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.extensions import section_class
from hil.config.schema.follow import FollowConfig
from hil.config.schema.normal_force import NormalForceConfig
from hil.config.schema.sinkage import SinkageConfig
from hil.config.schema.stimulus import StimulusConfig
from hil.config.schema.traction import DrawbarConfig, SlopeConfig
from hil.config.schema.trial import QualityConfig, TrialConfig
from hil.config.schema.walk import WalkConfig

# Key of an experiment's section where that is not its name.
_KEYS = {"impact": "trial"}


class ExperimentSections(Section):
    """A section for each experiment; a config has the values of those that its own experiment uses."""

    trial: TrialConfig = Field(default_factory=TrialConfig)
    quality: QualityConfig = Field(default_factory=QualityConfig)
    jog: JogConfig = Field(default_factory=JogConfig)
    drive: DriveConfig = Field(default_factory=DriveConfig)
    follow: FollowConfig = Field(default_factory=FollowConfig)
    stimulus: StimulusConfig = Field(default_factory=StimulusConfig)
    normal_force: NormalForceConfig = Field(default_factory=NormalForceConfig)
    drawbar: DrawbarConfig = Field(default_factory=DrawbarConfig)
    slope: SlopeConfig = Field(default_factory=SlopeConfig)
    walk: WalkConfig = Field(default_factory=WalkConfig)
    sinkage: SinkageConfig = Field(default_factory=SinkageConfig)
    crossing: CrossingConfig = Field(default_factory=CrossingConfig)
    capture: CaptureConfig = Field(default_factory=CaptureConfig)


def section_key(experiment: str) -> str:
    """Key of an experiment's own section in a config."""
    return _KEYS.get(experiment, experiment)


def unused_sections(experiment: Any) -> frozenset[str]:
    """Keys of the sections of experiments that an experiment does not use; none if there is no such experiment.

    Args:
        experiment: its name, as an unchecked config gives it.
    """
    key = section_key(str(experiment))
    kind: Any = None
    if key in ExperimentSections.model_fields:
        kind = ExperimentSections.model_fields[key].annotation
    else:
        with suppress(ValueError, ExtensionError):
            kind = section_class(key)
    if not (isinstance(kind, type) and issubclass(kind, ExperimentSection)):
        return frozenset()
    return frozenset(ExperimentSections.model_fields) - {key, *kind.used_sections()}


def users_of(section: str) -> tuple[str, ...]:
    """Names of the experiments that use a section."""
    names = [*_KEYS, *(name for name in ExperimentSections.model_fields if name not in _KEYS.values())]
    return tuple(name for name in names if (unused := unused_sections(name)) and section not in unused)
