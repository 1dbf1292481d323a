"""What an operator sees of a run."""
