"""Fault table, monitor, limiter and arming: what keeps a rig safe."""
