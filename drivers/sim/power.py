"""Motor currents and supply voltage of a simulated rig, from the torques of its drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class PowerModel(NamedTuple):
    """Currents in proportion to the torques, and a supply that droops with their sum.

    Attributes:
        torque_per_A: torque at the axle for each ampere [N m/A].
        supply_V: voltage without a load [V].
        supply_ohm: inner resistance of the supply and its wires [Ohm].
        supplies: how many controllers measure it.
    """

    torque_per_A: float
    supply_V: float
    supply_ohm: float
    supplies: int = 1

    def currents_A(self, torque_Nm: Sequence[float]) -> tuple[float, ...]:
        """Of each motor [A], with the sign of its torque at the axle [N m]."""
        return tuple([torque / self.torque_per_A for torque in torque_Nm])

    def voltage_V(self, currents_A: Sequence[float]) -> float:
        """Of the supply under the load of these motors [V]."""
        return self.supply_V - self.supply_ohm * sum(map(abs, currents_A))
