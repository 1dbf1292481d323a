"""Real time: the clock on a fixed grid, the real-time rights from the kernel, and timing measurements.

What needs numpy is not imported here: processes that only ask for rights, or end with their parent, stay small.
"""

from hil.realtime.rights import RealtimeRight, RightsWanted, rights

__all__ = ["RealtimeRight", "RightsWanted", "rights"]
