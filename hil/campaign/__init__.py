"""Many trials: a plan of impact trials, run and judged one by one, and sweeps over any key of a config."""
