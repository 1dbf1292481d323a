"""A complete run in virtual time in this process: the loop, its workers, the drivers and the simulated rig.

The same code runs in real time (`hil.processes`, the drivers, `hil.simulator`); only clock, ports, network and
processes are replaced.

rig        the simulated rig: plant, serial devices, device server
processes  workers as actors
run        the complete run, and ways to disturb it
"""
