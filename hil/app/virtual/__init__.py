"""A whole run in virtual time and in this process: the loop, its workers, the drivers and the simulated rig.

What runs is what runs in real time (`hil.workers`, the drivers, `hil.app.wire`); only clock, ports, network and
processes are others.

far_end    the simulated rig: plant, serial devices, device server
processes  workers as actors
run        all of it, and what can be done to it
"""
