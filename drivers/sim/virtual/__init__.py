"""Virtual time for everything that would otherwise run in real time, in threads that take turns.

schedule   who runs next, and what time it is then
host       the computer of a run: its clock and its ports
serial     serial ports between a driver and a simulated line
grpc       a device server without a network
"""
