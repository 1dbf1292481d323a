"""Common parts of devices simulated at the protocol level: real drivers exchange bytes with them.

plant_ports  interface of simulated devices to the plant: wheels, cylinders, sampled channels
line         a pty with the line time of its baud rate, and the faults that can be injected into a line
udp          the end of a line on the network, in place of a pty

The devices are next to their drivers: `drivers.MAKER.simulated`.
"""
