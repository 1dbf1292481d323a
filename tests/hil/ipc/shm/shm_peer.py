"""The other process of the tests: `python shm_peer.py TASK PATH ...` prints "ready", then works until it is killed."""

import mmap
import signal
import sys
from pathlib import Path

import numpy as np

WORDS = 512
RECORD = np.dtype([("number", "<i8"), ("words", "<i8", (WORDS,))])
BIG = np.dtype([("number", "<i8"), ("words", "<i8", (32768,))])  # copied so slowly that a kill happens in the middle


class NaiveMailbox:
    """The simplest implementation: plain stores into one slot, the version last."""

    def __init__(self, path, dtype, *, create):
        if create:
            Path(path).write_bytes(bytes(64 + dtype.itemsize))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._version = np.frombuffer(self._map, np.int64, 1)
        self._slot = np.frombuffer(self._map, np.uint8, dtype.itemsize, 64).view(dtype)

    def write(self, record):
        self._slot[:] = record
        self._version[0] += 1

    def read(self, out):
        version = int(self._version[0])
        out[:] = self._slot
        return version


def fill(row, number):
    row["number"] = number
    row["words"] = number


def progress(*words):
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def write(mailbox, dtype):
    record, number = np.zeros(1, dtype), 0
    words, numbers = record["words"], record["number"]
    progress("ready")
    while True:
        number += 1
        words[:], numbers[0] = number, number
        mailbox.write(record)


def read(mailbox, dtype):
    """Until SIGTERM."""
    out, reads, torn, stop = np.zeros(1, dtype), 0, 0, []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    while mailbox.read(out) < 1:
        pass
    progress("ready")
    while not stop:
        if mailbox.read(out) > 0:
            reads += 1
            torn += not out["number"][0] == out["words"][0, 0] == out["words"][0, -1]
    progress(f"{torn} torn of {reads}")


def append(ring, batch, limit=0):
    """Append numbers from the ring's position on; a refused batch is appended again."""
    rows, number = np.zeros(batch, ring.dtype), ring.written
    progress("ready")
    while not limit or number < limit:
        for i in range(batch):
            fill(rows[i], number + i)
        if ring.append(rows):
            number += batch


def record(cursor, batch):
    """A recorder that is killed before its rows are in the file, except the first batch."""
    while len(cursor.read(1, keep=True)) == 0:
        pass
    cursor.release()
    progress("ready")
    while True:
        cursor.read(batch, keep=True)


def beat(heartbeat):
    """Times whose two halves are the same number."""
    number = 0
    progress("ready")
    while True:
        number = (number + 1) % 2**31
        heartbeat.beat("loop", number << 32 | number)


def look(mailbox, ring):
    out = np.zeros(1, RECORD)
    mailbox.read(out)
    ring.reader("viewer").read(3)
    progress("ready")


def main(task, path, *numbers):
    from hil.ipc.shm import Heartbeat, Mailbox, Ring

    if task == "write-naive":
        write(NaiveMailbox(path, RECORD, create=False), RECORD)
    elif task in {"write", "write-big"}:
        dtype = BIG if task == "write-big" else RECORD
        write(Mailbox(path, dtype, create=False), dtype)
    elif task == "read-big":
        read(Mailbox(path, BIG, create=False), BIG)
    elif task in {"append", "append-big"}:
        append(Ring(path, BIG if task == "append-big" else RECORD, None, create=False), *map(int, numbers))
    elif task == "record":
        record(Ring(path, RECORD, None, create=False).reader("recorder"), int(numbers[0]))
    elif task == "beat":
        beat(Heartbeat(path, create=False))
    elif task == "look":
        look(Mailbox(f"{path}/mailbox", RECORD, create=False), Ring(f"{path}/ring", RECORD, None, create=False))
    progress("imported:", *({"numba", "scipy", "llvmlite"} & set(sys.modules)))


if __name__ == "__main__":
    main(*sys.argv[1:])
