"""Faults injected into a simulated rig on purpose, and an independent look at what came of each (`hil faults`)."""
