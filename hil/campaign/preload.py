"""What the fork server of a process pool imports once, so that each process of the pool has it."""

import hil.app.run
import hil.campaign.trial
import hil.campaign.workers  # noqa: F401
