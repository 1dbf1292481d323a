"""Sensors of the rig."""
