"""Devices simulated at the wire: what a real driver's bytes meet when there is no hardware.

behind       what simulated devices act on: wheels, cylinders, sampled channels
line         a pty with the line time of its baud rate, and the ways in which a line misbehaves
roboclaw     a bus of RoboClaw controllers
roboteq      a Roboteq controller
relay_board  a Modbus relay board, or a valve terminal
ni_server    an NI device server for the nidaqmx package, with a simulated chassis behind it (ni_chassis, ni_parts)
"""
