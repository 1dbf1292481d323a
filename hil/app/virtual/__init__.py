"""A whole run in virtual time and in this process: the loop, its workers, the drivers and the simulated rig.

What runs is what runs in real time (`hil.processes`, the drivers, `hil.simulator`); only clock, ports, network and
processes are others.

rig        the simulated rig: plant, serial devices, device server
processes  workers as actors
run        all of it, and what can be done to it
"""
