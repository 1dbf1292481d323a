"""The step service: a simulated rover that another simulator moves, over ZeroMQ REQ/REP, in lockstep with its caller.

layout     the messages, as fixed little-endian layouts
contacts   checks the caller's contacts, and makes planes of them
service    answers the messages
socket     serves it
"""
