"""Relay board, valve terminal and analogue outputs on Modbus RTU, simulated at the protocol level."""
