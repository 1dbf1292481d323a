"""What a wheel's methods return: its forces by name. Kernels return plain tuples in the same order."""

from typing import Any, NamedTuple


class NormalForce(NamedTuple):
    """The resultants of the normal pressure, floats or arrays.

    Attributes:
        vertical: Upwards [N].
        resistance: Compaction resistance [N], horizontal, positive against forward motion.
    """

    vertical: Any
    resistance: Any


class WheelForces(NamedTuple):
    """The soil's force on a wheel that goes straight, floats or arrays.

    Attributes:
        longitudinal: Positive forward [N]: the drawbar pull.
        vertical: Upwards [N].
        torque: About the axle [N m], positive where it resists forward spin.
    """

    longitudinal: Any
    vertical: Any
    torque: Any


class DriftForces(NamedTuple):
    """The soil's force on a wheel that may drift sideways, floats or arrays.

    Attributes:
        longitudinal: Positive forward [N].
        lateral: To the left [N].
        vertical: Upwards [N].
        torque: About the axle [N m], positive where it resists forward spin.
    """

    longitudinal: Any
    lateral: Any
    vertical: Any
    torque: Any
