"""One narrow interface per device kind, one folder per maker. No control logic and no physics here.

registry        drivers by role and name, built in or from installed packages
driver_type     interface of a driver to the rest of the program
device_sections, section, checks, calibration   what the makers' sections of a config share
interfaces, messages, host   device interfaces, samples and commands, and the clock and ports of the computer
faults          faults injected into a device in this process
roboclaw, roboteq, cia402, modbus, ni, serial   a folder per maker or profile, and what devices on serial ports share
can             frames on a CAN bus behind an adapter
sim             devices in this process, virtual time, and what devices simulated at the protocol level share
"""

import os

# gRPC reads it once, at first use. Our own messages report a lost server better than gRPC's log does.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
