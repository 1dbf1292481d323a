"""A rover of one's own: read from a URDF or MJCF, looked at, written as a config; and a config's rover as a URDF."""
