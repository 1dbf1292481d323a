"""Faults injected into a simulated rig on purpose, and an independent look at the outcome of each (`hil faults`)."""
