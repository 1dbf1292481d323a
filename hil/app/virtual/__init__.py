"""A rig at the protocol level in virtual time: the loop, its workers, the drivers and the simulated rig in one process.

The same code runs in real time (`hil.processes`, the drivers, `hil.simulator`); only clock, ports, network and
processes are replaced.
"""
