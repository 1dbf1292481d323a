"""Films and pictures of a run: the rover as it moved, from its record alone."""
