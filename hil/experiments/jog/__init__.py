"""Bring-up through the same loop and limiter as a trial: turn wheels, or power one valve, for a short time."""
