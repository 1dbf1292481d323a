"""A motor at its own shaft and the gear behind it, as they act at the axle."""

from __future__ import annotations

from typing import NamedTuple


class Gearbox(NamedTuple):
    """A motor by what it does at its own shaft, and the gear to the axle.

    Attributes:
        ratio: turns of the motor for one of the axle.
        efficiency: share of the motor's torque that reaches the axle; above 0, up to 1.
        torque: largest of the motor [N m], by its current.
        stall_torque: of the motor at rest and full voltage [N m].
        no_load_speed: of the motor [rad/s].
        rotor_inertia: of the motor [kg m^2].

    Example:
        >>> low = Gearbox(129.0, 0.8, 3.0, 12.0, 314.0, 1e-3)
        >>> round(low.axle_torque, 1), round(low.axle_inertia, 2), round(low.full_torque_speed, 3)
        (309.6, 16.64, 1.826)
    """

    ratio: float
    efficiency: float
    torque: float
    stall_torque: float
    no_load_speed: float
    rotor_inertia: float

    @property
    def axle_torque(self) -> float:
        """Largest torque at the axle [N m]."""
        return self.ratio * self.efficiency * min(self.torque, self.stall_torque)

    @property
    def axle_stall_torque(self) -> float:
        """Torque at the axle at rest and full voltage [N m]."""
        return self.ratio * self.efficiency * self.stall_torque

    @property
    def axle_no_load_speed(self) -> float:
        """Speed of the axle without a load [rad/s]."""
        return self.no_load_speed / self.ratio

    @property
    def axle_inertia(self) -> float:
        """The rotor's inertia at the axle [kg m^2]: its own by the square of the ratio."""
        return self.ratio**2 * self.rotor_inertia

    @property
    def full_torque_speed(self) -> float:
        """Speed of the axle up to which it has its largest torque [rad/s]; above it, the voltage limits the torque."""
        return self.axle_no_load_speed * (1.0 - min(self.torque / self.stall_torque, 1.0))
