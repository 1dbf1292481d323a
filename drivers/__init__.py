"""One narrow interface per device kind, one folder a maker: no control logic and no physics.

registry        drivers by role and name, our own and those that installed packages bring
driver_type     what a driver is to the rest of the program
device_sections, section, checks, calibration   what the makers' sections of a config share
interfaces, messages, host   what a device is, what crosses its border, and what it needs of the computer
faults          faults injected into a device in this process
roboclaw, roboteq, modbus, ni, serial           a folder a maker, and what those on serial ports share
sim             devices in this process, virtual time, and what devices simulated at the protocol level share
"""

import os

# gRPC reads it once, when it is first used: what it would print of a server that is gone, our own messages say better.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
