"""Between the rows of a table: cubics with a continuous derivative."""

import numpy as np

from models.kernels.compiled import FloatArray, kernel


@kernel
def cubic_weights(x: float) -> tuple[float, float, float, float]:
    """Weights of four rows for the cubic between the middle two, its slopes those of the chords between neighbours.

    Args:
        x: Place between the second row and the third, 0 to 1 [-].
    """
    return (
        0.5 * x * (x * (2.0 - x) - 1.0),
        0.5 * (x * x * (3.0 * x - 5.0) + 2.0),
        0.5 * x * (x * (4.0 - 3.0 * x) + 1.0),
        0.5 * x * x * (x - 1.0),
    )


def extended(nodes: FloatArray) -> FloatArray:
    """Nodes (n, ...) with one more beyond each end, on the parabola through the last three."""
    start = 3.0 * nodes[:1] - 3.0 * nodes[1:2] + nodes[2:3]
    end = 3.0 * nodes[-1:] - 3.0 * nodes[-2:-1] + nodes[-3:-2]
    return np.concatenate([start, nodes, end])
