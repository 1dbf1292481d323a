"""Live view of a run for the operator."""
