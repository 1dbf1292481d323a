"""A simulated NI device server for the nidaqmx package, with a simulated chassis behind it."""
