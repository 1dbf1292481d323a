"""The sections of a rig config: keys, defaults, ranges."""
