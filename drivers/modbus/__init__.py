"""Valves on Modbus RTU. This file imports nothing: who needs a part of it imports that part."""
