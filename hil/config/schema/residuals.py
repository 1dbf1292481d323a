"""Residuals of a rig config: how far measured quantities may be from what the rest of the rig implies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hil.config.schema.base import Section, key

# The residuals by name; `hil.residuals.table` says what each compares.
ResidualName = Literal[
    "force_share",
    "force_middle",
    "force_peak",
    "force_impulse",
    "force_at_rest",
    "strain_peak",
    "way_to_impact",
    "wheel_speed",
    "wheel_turn",
    "speed_lag",
    "current_share",
    "current_sum",
    "supply",
    "load_sum",
    "wheel_load",
    "pull",
    "pressure",
    "pressure_lag",
    "pressure_missing",
    "age",
    "sample_clock",
]
Number = Annotated[float, Field(ge=-1e12, le=1e12)]
Pair = Annotated[tuple[Number, Number], Field(strict=False)]


class ResidualSheet(Section):
    """Thresholds, and the good runs that they were measured in."""

    runs: int = Field(ge=5, le=1000000, description="good runs")
    sections: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]] = Field(
        max_length=100, description="fingerprint of each section of their config: another one is not judged"
    )
    between: dict[str, Pair] = Field(
        default_factory=dict,
        max_length=1000,
        description="smallest and largest value of each key that they differed in",
    )
    thresholds: dict[ResidualName, Annotated[dict[str, Pair], Field(max_length=1000)]] = Field(
        description="smallest and largest allowed value, by residual and element"
    )

    @model_validator(mode="after")
    def _ordered(self) -> ResidualSheet:
        groups = {"between": self.between, **{f"thresholds.{name}": one for name, one in self.thresholds.items()}}
        for path, pairs in groups.items():
            for name, (low, high) in pairs.items():
                if low > high:
                    raise ValueError(f"{path}.{name}: {low:g} to {high:g}; allowed: the smaller number first")
        return self


class ResidualsConfig(Section):
    """Plausible wrong values: fault 34."""

    reaction: Literal["mark", "safe"] = key(
        "mark",
        "mark: a run is judged at its end, marked and not accepted; safe: also Safe, by a residual that a "
        "tick can judge (wheel_speed, load_sum)",
    )
    calibration: ResidualSheet | None = key(
        None,
        "thresholds, measured in good runs; null: nothing is judged",
        note="path of the file that `hil calibrate residuals` writes, seen from the config's folder, or what "
        "would be in it",
    )
