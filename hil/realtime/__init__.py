"""Real time: the clock on a fixed grid, the rights it asks the kernel for, and how well it keeps time."""

from hil.realtime.clock import RealtimeClock
from hil.realtime.histogram import Histogram
from hil.realtime.rights import Granted, RightsWanted, rights

__all__ = ["Granted", "Histogram", "RealtimeClock", "RightsWanted", "rights"]
