"""Reduced multibody rovers, and what a rover of one's own is made of.

`rcp()` and the other functions make a rover; `PRESETS` has their numbers by name. A rover of one's own is a `Tree` of
`Body`, `Joint` and `WheelMount`, by hand or by a `TreeBuilder`; `Rover(tree)` computes with it. `Parameters` makes a
rover that a config can name (docs/how-to/add-a-rover.md). `Rover` is imported when it is used: that takes the kernels'
time.
"""

from typing import TYPE_CHECKING, Any

from models.rover.assembly import TreeBuilder, box, cylinder
from models.rover.exomars import ExomarsLikeParameters, ExomarsParameters, exomars, exomars_like
from models.rover.juno import JunoExactParameters, JunoParameters, juno, juno_exact
from models.rover.parameters import Parameters, choice, quantity
from models.rover.parametric import ParametricParameters, parametric
from models.rover.rcp import RcpParameters, rcp
from models.rover.registry import PRESETS, ROVERS
from models.rover.rocker_bogie import RockerBogieParameters, rocker_bogie
from models.rover.single_wheel import SingleWheelParameters, single_wheel
from models.rover.ties import Coupling, LoopClosure
from models.rover.tree import Body, Joint, Tree, WheelMount
from models.rover.xu import XuParameters, xu

if TYPE_CHECKING:
    from models.rover.rover import DrivenDynamics, Rover

__all__ = [
    "PRESETS",
    "ROVERS",
    "Body",
    "Coupling",
    "DrivenDynamics",
    "ExomarsLikeParameters",
    "ExomarsParameters",
    "Joint",
    "JunoExactParameters",
    "JunoParameters",
    "LoopClosure",
    "Parameters",
    "ParametricParameters",
    "RcpParameters",
    "RockerBogieParameters",
    "Rover",
    "SingleWheelParameters",
    "Tree",
    "TreeBuilder",
    "WheelMount",
    "XuParameters",
    "box",
    "choice",
    "cylinder",
    "exomars",
    "exomars_like",
    "juno",
    "juno_exact",
    "parametric",
    "quantity",
    "rcp",
    "rocker_bogie",
    "single_wheel",
    "xu",
]


def __getattr__(name: str) -> Any:
    if name not in ("DrivenDynamics", "Rover"):
        raise AttributeError(f"module 'models.rover' has no attribute {name!r}; it has {', '.join(__all__)}")
    from models.rover import rover

    return getattr(rover, name)


def __dir__() -> list[str]:
    return __all__
