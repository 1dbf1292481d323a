"""Series of the experiments of traction: drawbar pull over slip, and the steepest slope, for each load distribution."""
