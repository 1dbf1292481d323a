"""Virtual time for programs that otherwise run in real time, in threads of which one runs at a time.

schedule   order of the actors, and the time
host       the computer of a run: its clock and its ports
serial     serial ports between a driver and a simulated line
grpc       a device server without a network
"""
