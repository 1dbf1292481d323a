"""Checks of values that are allowed alone but not together."""
