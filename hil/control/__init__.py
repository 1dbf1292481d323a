"""Controllers: from the goal of an experiment to set-points."""
