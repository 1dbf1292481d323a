"""What devices that are simulated at the protocol level share: real drivers exchange bytes with them.

plant_ports  what simulated devices act on: wheels, cylinders, sampled channels
line         a pty with the line time of its baud rate, and the faults that can be injected into a line

The devices themselves are beside the drivers that talk to them: `drivers.MAKER.simulated`.
"""
