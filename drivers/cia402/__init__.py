"""Drives with the CANopen profile CiA 402. This file imports nothing; import the submodule that you need."""
