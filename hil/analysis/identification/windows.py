"""What an identification starts from: steady windows of one wheel or of a whole rover, each with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from models.wheel import RigidWheel, Soil
from models.wheel.soil import SHEAR_LAWS


class IdentificationError(ValueError):
    """Runs or tables that no soil can be identified from; the message says why and what to do."""


def in_millimetres(value: float) -> str:
    """What a length that is too large for metres would be in millimetres, in words; nothing of one below 0."""
    return f"; if it is in mm, write {value / 1000.0:g}" if value > 0.0 else ""


# Longer than any wheel of a rover [m].
_LONGEST_M = 5.0


@dataclass(frozen=True)
class WheelSize:
    """A wheel, as `models.wheel.RigidWheel` takes it.

    Attributes:
        radius_m: of the rim.
        width_m: of the rim.
        grouser_height_m: added to the radius.
        variant: of the wheel-soil model.
        shear: law of the soil's shear stress, as `models.wheel.Soil` takes it; it is taken as known.
        shear_residual: likewise.
    """

    radius_m: float
    width_m: float
    grouser_height_m: float = 0.0
    variant: str = "exact"
    shear: str = SHEAR_LAWS[0]
    shear_residual: float | None = None

    def __post_init__(self) -> None:
        for name in ("radius_m", "width_m"):
            if not 0.0 < (value := getattr(self, name)) <= _LONGEST_M:
                raise IdentificationError(
                    f"{name} is {value:g}, allowed: above 0 and up to {_LONGEST_M:g} m{in_millimetres(value)}"
                )

    def on(self, soil: Soil) -> RigidWheel:
        """The wheel on a soil."""
        sheared = replace(soil, shear=self.shear, shear_residual=self.shear_residual)
        return RigidWheel(self.radius_m, self.width_m, sheared, self.variant, grouser_height=self.grouser_height_m)


@dataclass(frozen=True)
class SharedErrors:
    """What measured a window: errors that all windows of one bench share. Standard deviations.

    Attributes:
        name: of it; windows with an equal bench have the same errors.
        pull_gain: of the pull's sensitivity, relative.
        pull_zero_N: of the pull's zero.
        torque_gain: of the torque's sensitivity, relative.
        load_gain: of the load of each wheel, relative; a wheel has the same error in each window.
    """

    name: str = ""
    pull_gain: float = 0.0
    pull_zero_N: float = 0.0
    torque_gain: float = 0.0
    load_gain: float = 0.0


@dataclass(frozen=True)
class MeasuredMean:
    """A measured value: its mean over a window, and the standard deviation of that mean, shared errors not included."""

    value: float
    sd: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value) or not (math.isfinite(self.sd) and self.sd > 0.0):
            raise IdentificationError(
                f"value {self.value:g} with standard deviation {self.sd:g}: allowed are a finite number and a standard "
                "deviation above 0"
            )


@dataclass(frozen=True)
class Window:
    """A steady state: what is known of the wheels, and what was measured of their forces.

    Attributes:
        name: of the run, or the row of a table; for messages.
        wheel: each of the wheels is one like this.
        load_N: (wheels,) vertical, each at least 0.
        slip: (wheels,) of a turning wheel, negative when braking; None: the wheel was pressed down without turning.
        slip_sd: (wheels,) standard deviations, of one error that all wheels share.
        pull_N: sum over the wheels, forward; None: not measured, as each of the next two.
        torque_Nm: sum over the wheels, at the axles.
        sinkage_m: mean over the wheels.
        along_N: part of the wheels' forward force that carries the weight up a slope.
        bench: what measured it.
    """

    name: str
    wheel: WheelSize
    load_N: tuple[float, ...]
    slip: tuple[float, ...] | None
    slip_sd: tuple[float, ...] = ()
    pull_N: MeasuredMean | None = None
    torque_Nm: MeasuredMean | None = None
    sinkage_m: MeasuredMean | None = None
    along_N: float = 0.0
    bench: SharedErrors = SharedErrors()

    def __post_init__(self) -> None:
        numbers = (*self.load_N, *(self.slip or ()), *self.slip_sd, self.along_N)
        if not self.load_N or not all(map(math.isfinite, numbers)):
            raise IdentificationError(f"{self.name}: a load or a slip is not a number")
        if min(self.load_N) < 0.0 or not max(self.load_N) > 0.0:
            raise IdentificationError(f"{self.name}: wheel loads {self.load_N}, allowed: at least 0 N, and one above")
        wheels = len(self.load_N)
        if self.slip is None:
            if self.pull_N or self.torque_Nm:
                raise IdentificationError(
                    f"{self.name}: a pull or torque without a slip; give the slip, or leave them out (a sinkage test)"
                )
        elif len(self.slip) != wheels or (self.slip_sd and len(self.slip_sd) != wheels):
            raise IdentificationError(f"{self.name}: {wheels} loads and {len(self.slip)} slips; each wheel has both")
        elif max(map(abs, self.slip)) > 1.0:
            raise IdentificationError(f"{self.name}: slip {self.slip}, allowed: -1 to 1")
        if not (self.pull_N or self.torque_Nm or self.sinkage_m):
            raise IdentificationError(f"{self.name}: no pull, torque or sinkage was measured; one of them is needed")

    def measuring(self, values: Mapping[str, MeasuredMean]) -> Window:
        """The same with other measured values, by name; what is not named was not measured."""
        pull, torque, sinkage = (values.get(name) for name in ("pull_N", "torque_Nm", "sinkage_m"))
        return replace(self, pull_N=pull, torque_Nm=torque, sinkage_m=sinkage)

    @property
    def measured(self) -> dict[str, MeasuredMean]:
        """What was measured, by its name."""
        named = {"pull_N": self.pull_N, "torque_Nm": self.torque_Nm, "sinkage_m": self.sinkage_m}
        return {name: value for name, value in named.items() if value is not None}
