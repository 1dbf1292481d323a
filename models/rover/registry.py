"""Every rover of this package, with the numbers of its source: one entry each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from models.rover.capture_arm import CaptureArmParameters
from models.rover.exomars import ExomarsLikeParameters, ExomarsParameters
from models.rover.juno import JunoExactParameters, JunoParameters
from models.rover.parameters import Parameters
from models.rover.parametric import ParametricParameters
from models.rover.rcp import RcpParameters
from models.rover.rocker_bogie import RockerBogieParameters
from models.rover.single_wheel import SingleWheelParameters
from models.rover.xu import XuParameters

ROVERS: Mapping[str, type[Parameters]] = MappingProxyType(
    {
        rover.rover: rover
        for rover in (
            RcpParameters,
            ParametricParameters,
            ExomarsLikeParameters,
            ExomarsParameters,
            RockerBogieParameters,
            JunoParameters,
            JunoExactParameters,
            XuParameters,
            SingleWheelParameters,
        )
    }
)

# Vehicles of a config that have no wheels: what asks for a rover's ground, wheels or loads has nothing to ask there.
WITHOUT_WHEELS: Mapping[str, type[Parameters]] = MappingProxyType({CaptureArmParameters.rover: CaptureArmParameters})
VEHICLES: Mapping[str, type[Parameters]] = MappingProxyType({**ROVERS, **WITHOUT_WHEELS})


PRESETS: Mapping[str, Parameters] = MappingProxyType({name: kind() for name, kind in ROVERS.items()})
