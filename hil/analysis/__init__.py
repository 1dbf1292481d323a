"""What a record proves: is it whole and true to itself, and would today's program have done the same?"""

from hil.analysis.dataset import open_run

__all__ = ["open_run"]
