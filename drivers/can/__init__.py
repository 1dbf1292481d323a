"""CAN buses by adapters on serial ports. This file imports nothing; import the submodule that you need."""
