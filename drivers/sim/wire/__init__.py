"""Devices simulated at the wire: what a real driver's bytes meet when there is no hardware.

line        a pty with the line time of its baud rate, and the ways in which a line misbehaves
ni_server   an NI device server for the nidaqmx package, with a simulated chassis behind it (ni_chassis, ni_parts)
"""
