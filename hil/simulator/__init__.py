"""The simulated rig at the protocol level: a plant in real time behind endpoints that real drivers open.

memory     what its processes share
plant      the plant
serial     all serial devices, each on a pseudo-terminal
daq        the NI device server
control    how faults are injected into it, to put the rover back, and to tell the truth
rig        starts them all, and stops them
"""
