"""Residuals: how far each measured quantity is from what the rest of the rig implies (fault 34)."""
