"""Sections of the experiments, our own and installed ones, and which of them an experiment uses."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pydantic import Field

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names, load_installed
from hil.config.schema.base import Section
from hil.config.schema.capture import CaptureConfig, DriveConfig, JogConfig
from hil.config.schema.crossing import CrossingConfig, SinkageConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.follow import FollowConfig
from hil.config.schema.nested import checked_below
from hil.config.schema.normal_force import NormalForceConfig
from hil.config.schema.stimulus import StimulusConfig
from hil.config.schema.traction import DrawbarConfig, SlopeConfig
from hil.config.schema.trial import QualityConfig, TrialConfig
from hil.config.schema.walk import WalkConfig


def extension_section(name: str, values: Any) -> Section:
    """The checked section of an installed experiment.

    Raises:
        ValueError: see `section_class`.
        ValidationError: the values are not valid for the section.
    """
    return checked_below(name, section_class(name), values)


def installed_section(name: str) -> ExperimentSection:
    """Section of an installed experiment with its default values; if there is none of that name, that of any other."""
    with suppress(ValueError, ExtensionError):
        return section_class(name)()
    return ExperimentSection()


def section_class(name: str) -> type[ExperimentSection]:
    """Class of the section of an installed experiment.

    Raises ValueError: no installed package has an experiment of that name, or it cannot be imported, or is none.
    """
    for kind, package in load_installed(EXPERIMENTS, name):
        section = getattr(kind, "section", None)  # of somebody else's: it may be anything
        if not (isinstance(section, type) and issubclass(section, ExperimentSection)):
            raise ValueError(f"an experiment with an ExperimentSection; {package} brings {kind!r}")
        return section
    installed = ", ".join(installed_names(EXPERIMENTS)) or "none is installed"
    raise ValueError(f"the name of an experiment of an installed package: {installed}")


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
    """Keys of the sections of experiments that an experiment does not use; none if there is no such experiment."""
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
