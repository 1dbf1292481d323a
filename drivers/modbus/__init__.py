"""Valves, amplifier and encoders on Modbus RTU. This file imports nothing; import the submodule that you need."""
