"""A table of the nearest places, filled one by one."""

from models.kernels.compiled import FloatArray, kernel


@kernel
def row_for(found: FloatArray, count: int, column: int, distance: float) -> int:
    """Row for a place: the next one, in a full table that of the farthest; -1 where the place is no nearer than that.

    Args:
        found: (most, columns) of which the first rows are filled.
        count: how many.
        column: of the distances [m].
        distance: of the place [m].
    """
    if count < found.shape[0]:
        return count
    at = 0
    for i in range(1, count):
        if found[i, column] > found[at, column]:
            at = i
    return -1 if found[at, column] <= distance else at
