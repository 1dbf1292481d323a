"""`hil view`: a viewer outside this program, live from a running rig's telemetry or from a record."""
