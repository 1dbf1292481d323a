"""The soils quoted by the sources, by name, each with only the values of its source.

No source prints a friction angle, a cohesion or a shear modulus (all figures were made with some), so a preset is not a
`Soil` yet: `Preset.soil` asks for what is missing.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any

from models.checks import refuse
from models.wheel.sinkage_laws import BernsteinGoriatchkin, MeirionGriffithSpenko, SinkageLaw
from models.wheel.soil import Soil

_NEEDED = tuple(entry.name for entry in fields(Soil) if entry.default is MISSING)


@dataclass(frozen=True, slots=True)
class Preset:
    """A soil as a source quotes it.

    Attributes:
        source: Source of the numbers.
        law: Its pressure-sinkage law; None where the source has none.
        known: Keywords of `Soil` the source gives.
        radius: R of the wheel it was quoted with [m]; NaN where not given.
        width: b of that wheel [m]; NaN where not given.
    """

    source: str
    law: SinkageLaw | None
    known: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    radius: float = math.nan
    width: float = math.nan

    def soil(self, radius: float, width: float, **others: float) -> Soil:
        """Returns the soil under a wheel, completed by the values that the source does not give.

        Args:
            radius: R [m].
            width: b [m].
            others: Keywords of `Soil`; they may replace quoted values too.

        Raises:
            ValueError: Something that `Soil` needs is neither quoted nor given, or a value is out of range.

        Example:
            >>> soil = PRESETS["juno_run_1"].soil(0.28, 0.2, friction_angle=0.5)
            >>> soil.stiffness, soil.exponent, soil.rebound
            (207000.0, 0.583, 0.0674)
        """
        values: dict[str, Any] = {**self.known, **others}
        if self.law is not None:
            values = {"stiffness": self.law.stiffness(radius, width), "exponent": self.law.exponent, **values}
        missing = [name for name in _NEEDED if name not in values]
        refuse("Preset", [f"{name} is missing ({self.source} does not give it), allowed: a number" for name in missing])
        return Soil(**values)


_JUNO_RADIUS = 11.0 * 0.0254  # 22-inch wheels


def _juno(table: str, modulus: float, exponent: float, rebound: float, slip_modulus: float) -> Preset:
    known = MappingProxyType({"rebound": rebound, "slip_modulus": slip_modulus})
    law = BernsteinGoriatchkin(exponent, modulus)
    return Preset(f"Petersen 2012, Table {table}, identified by drawbar pull", law, known, _JUNO_RADIUS)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "dry_sand": Preset(
            "Petersen 2012, Table 3.1, dry sand", BernsteinGoriatchkin(0.75, 1.783e6), radius=0.265, width=0.22
        ),
        "small_wheel_sand": Preset(
            "Petersen 2012, Table 3.2, dry sand under a small wheel",
            MeirionGriffithSpenko(0.8, 1.604e6, 0.39),
            radius=0.085,
            width=0.085,
        ),
        "dlr_quartz_sand": Preset(
            "Petersen 2012, 4.2.5, DLR single-wheel bed, fine dry quartz sand",
            None,
            MappingProxyType({"rebound": 0.025, "slip_modulus": 0.185}),
            radius=0.125,
            width=0.1,
        ),
        # Table 6.1 prints 2.07E0^5 for 2.07e5; its rebound is a fraction, although the heading says percent
        "juno_run_1": _juno("6.1", 2.07e5, 0.583, 0.0674, 0.689),
        "juno_run_2": _juno("6.2", 1.58e5, 0.501, 0.0813, 0.819),
        "juno_run_3": _juno("6.3", 1.47e5, 0.533, 0.0834, 0.794),
    }
)
