"""What the loop process and its workers share, and the loop's views on it: no call here waits for anybody."""

from hil.links.devices import SharedDaq, SharedDrives, SharedValves
from hil.links.journal import RingJournal
from hil.links.shared import FOLDER, Shared
from hil.links.truth import SharedTruth

__all__ = ["FOLDER", "RingJournal", "Shared", "SharedDaq", "SharedDrives", "SharedTruth", "SharedValves"]
