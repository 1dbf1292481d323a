"""The controller of a rover test rig: a fixed-step loop between measured samples and gated commands."""

__version__ = "0.1.0"
