"""What runs beside a rig in `tests/soak/endurance.py`, a process each: load, and subscribers that do not keep up."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import zmq

# Of the time, so much is load; a machine that is always busy leaves no period in time.
BUSY_S, IDLE_S = 0.02, 0.02
PIECE = bytes(2**20)


def compute() -> None:
    """Keep a processor busy half of the time."""
    os.nice(5)
    while True:
        until = time.monotonic() + BUSY_S
        while time.monotonic() < until:
            pass
        time.sleep(IDLE_S)


def write(folder: str) -> None:
    """Write to the disk, and wait until it is there."""
    place = Path(folder) / "ballast"
    while True:
        with place.open("wb") as file:
            for _ in range(16):
                file.write(PIECE)
                file.flush()
                os.fsync(file.fileno())
                time.sleep(IDLE_S)


def send() -> None:
    """Send over the loopback interface."""
    os.nice(5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()

        def receive() -> None:
            while receiver.recv(2**16):
                pass

        threading.Thread(target=receive, daemon=True).start()
        while True:
            sender.sendall(PIECE)
            time.sleep(IDLE_S)


def slow(endpoint: str) -> None:
    """Take a message a second of a thousand."""
    _subscribed(endpoint, 1.0)


def dead(endpoint: str) -> None:
    """Subscribe, and never read again."""
    _subscribed(endpoint, 0.0, stop_after=10)


def dies(endpoint: str) -> None:
    """Connect, read a while, and go without a word; again and again."""
    while True:
        child = os.fork()
        if not child:
            _subscribed(endpoint, 0.0)
        time.sleep(3.0)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _subscribed(endpoint: str, pause_s: float, stop_after: int = 0) -> None:
    subscriber = zmq.Context().socket(zmq.SUB)
    subscriber.setsockopt(zmq.RCVHWM, 10)
    subscriber.connect(endpoint)
    subscriber.subscribe(b"")
    taken = 0
    while True:
        subscriber.recv_multipart()
        taken += 1
        if taken == stop_after:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(pause_s)


if __name__ == "__main__":
    {part.__name__: part for part in (compute, write, send, slow, dead, dies)}[sys.argv[1]](*sys.argv[2:])
