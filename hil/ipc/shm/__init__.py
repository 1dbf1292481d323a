"""Memory shared by the loop process and its workers: files of the run folder, mapped by each process.

The kernel keeps the written data even if all processes are killed. No file is unlinked here. One process makes the
files before it starts the others, and each opens them by path. No writer waits for a reader, no reader waits for a
writer, and no process needs a compiler (decision 0006).

Mailbox    the newest value: set-points, slow state
Ring       every row in order, for several readers: sensor blocks, ticks to record
Heartbeat  when each process was last alive
"""

from hil.ipc.shm.mapped import ShmError, UnsupportedMachine
from hil.ipc.shm.ring import NEVER_NS, PROCESSES, STALE, Cursor, Heartbeat, Mailbox, Ring

__all__ = [
    "NEVER_NS",
    "PROCESSES",
    "STALE",
    "Cursor",
    "Heartbeat",
    "Mailbox",
    "Ring",
    "ShmError",
    "UnsupportedMachine",
]
