"""Real time: the clock on a fixed grid, the real-time rights from the kernel, and timing measurements."""

from hil.realtime.clock import RealtimeClock
from hil.realtime.histogram import Histogram
from hil.realtime.rights import Granted, RightsWanted, rights

__all__ = ["Granted", "Histogram", "RealtimeClock", "RightsWanted", "rights"]
