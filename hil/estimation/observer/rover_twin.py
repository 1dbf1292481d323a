"""The twin that a rig has: an observer where instruments measure its motion, and the plain model where none does."""

from __future__ import annotations

from hil.config.rig import Rig
from hil.estimation.observer.observed_twin import ObservedTwin
from hil.estimation.twin import CaptureTwin, RoverTwin
from models.plant import RigParameters


def make_twin(rig: Rig, nominal: RigParameters | None = None) -> RoverTwin:
    """The twin of a rig; `nominal` are other parameters than the rig's, as of one that has not settled."""
    if rig.layout.instruments:
        return ObservedTwin(rig, nominal)
    parameters = rig.nominal if nominal is None else nominal
    kind = RoverTwin if parameters.capture is None else CaptureTwin
    return kind(
        parameters,
        joints=rig.layout.turning,
        controls_loads=rig.layout.controls_loads,
        pull_unknown=rig.config.pull_unknown,
        longest_step_s=rig.longest_step_s,
        tilt_deg=rig.limits.tilt_deg,
    )
