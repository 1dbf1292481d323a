"""Fault table, monitor, limiter and arming checks."""
