"""What the fork server of a process pool imports once, so that each process of the pool has it."""

import scipy.signal  # noqa: F401  for the summary of an impact: a third of a second in each process

import hil.app.run
import hil.campaign.trial
import hil.campaign.workers  # noqa: F401
