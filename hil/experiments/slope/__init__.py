"""Climbing a slope at constant throttle: one run is one slope; `hil slope` finds the steepest."""
