"""Steps of the filter, and readings that are put into the step where they belong, however late they come."""

from __future__ import annotations

import math

from models.kernels.compiled import FloatArray, kernel
from models.observer.model import AGAIN, DROPPED, HEAD, MOST_READINGS, NODES, SHAKEN, Deviation, NodeHistory, Observer
from models.observer.step import predict
from models.observer.update import apply_reading


@kernel
def begin(o: Observer, t_ns: int, row: FloatArray) -> None:
    """The first node: the rover as it starts."""
    ring = o.ring
    ring.t_ns[0] = t_ns
    for i in range(row.size):
        ring.twin[0, i] = row[i]
    ring.mark[HEAD], ring.mark[NODES], ring.mark[AGAIN] = 0, 1, 0
    _keep(o.now, ring, 0)


@kernel
def take_reading(o: Observer, t_ns: int, role: int, value: FloatArray) -> None:
    """Put a reading (channels,) into its step, ordered by time and instrument; one that is too late is dropped.

    It acts at the next `refresh` or `close_step`.
    """
    ring = o.ring
    mark, nodes = ring.mark, ring.t_ns.size
    if mark[NODES] == 0 or t_ns <= ring.t_ns[(mark[HEAD] - mark[NODES] + 1) % nodes]:
        mark[DROPPED] += 1
        return
    back, node = -1, (mark[HEAD] + 1) % nodes  # of the step that is not yet over
    while t_ns <= ring.t_ns[(node - 1) % nodes]:
        back, node = back + 1, (node - 1) % nodes
    count = ring.filled[node]
    if count == MOST_READINGS:
        mark[DROPPED] += 1
        return
    read_ns, roles, values = ring.read_ns[node], ring.role[node], ring.value[node]
    at = count
    while at > 0 and (read_ns[at - 1] > t_ns or (read_ns[at - 1] == t_ns and roles[at - 1] > role)):
        read_ns[at], roles[at] = read_ns[at - 1], roles[at - 1]
        for i in range(value.size):
            values[at, i] = values[at - 1, i]
        at -= 1
    read_ns[at], roles[at] = t_ns, role
    for i in range(value.size):
        values[at, i] = value[i]
    ring.filled[node] = count + 1
    mark[AGAIN] = max(mark[AGAIN], back + 1)


@kernel
def refresh(o: Observer) -> None:
    """Run the filter again from the oldest step with a new reading; `o.now` then is the deviation at the last node."""
    ring = o.ring
    mark, nodes = ring.mark, ring.t_ns.size
    if mark[AGAIN] == 0:
        return
    node = (mark[HEAD] - mark[AGAIN] + 1) % nodes
    _load(ring, node, o.now)
    _apply_all(o, node)
    for _ in range(mark[AGAIN] - 1):
        node = (node + 1) % nodes
        _go_on(o, node)
        _apply_all(o, node)
    mark[AGAIN] = 0


@kernel
def close_step(o: Observer, t_ns: int, row: FloatArray) -> None:
    """A new node ends the step, with this row of the twin; the filter goes on to it and takes the step's readings."""
    refresh(o)
    ring = o.ring
    mark, nodes = ring.mark, ring.t_ns.size
    node = (mark[HEAD] + 1) % nodes
    ring.t_ns[node] = t_ns
    for i in range(row.size):
        ring.twin[node, i] = row[i]
    mark[HEAD] = node
    mark[NODES] = min(mark[NODES] + 1, nodes - 1)  # the place after the newest is that of the step to come
    ring.filled[(node + 1) % nodes] = 0
    _go_on(o, node)
    _apply_all(o, node)


@kernel
def shake(o: Observer, t_ns: int, speed: float) -> None:
    """An impact at that time, at that speed [m/s]: the steps since then, and those to come, are less certain."""
    ring = o.ring
    mark, nodes = ring.mark, ring.t_ns.size
    for back in range(mark[NODES] - 1):
        node = (mark[HEAD] - back) % nodes
        if ring.t_ns[node] < t_ns:
            break
        ring.twin[node, SHAKEN] = shaken_after(o, ring.t_ns[node] - t_ns, speed)
        mark[AGAIN] = max(mark[AGAIN], back + 2)  # from the node before, for its step to this one is another


@kernel
def shaken_after(o: Observer, since_ns: int, speed: float) -> float:
    """What is left of an impact's speed, so long after it [ns]."""
    return abs(speed) * math.exp(-since_ns * 1e-9 / o.process.shaken_time)


@kernel
def _go_on(o: Observer, node: int) -> None:
    """From the node before to this one."""
    ring = o.ring
    before = (node - 1) % ring.t_ns.size
    predict(o.process, o.now, ring.twin[before], ring.twin[node], (ring.t_ns[node] - ring.t_ns[before]) * 1e-9)
    _keep(o.now, ring, node)


@kernel
def _apply_all(o: Observer, node: int) -> None:
    ring = o.ring
    before = (node - 1) % ring.t_ns.size
    dt = (ring.t_ns[node] - ring.t_ns[before]) * 1e-9
    for i in range(ring.filled[node]):
        behind = (ring.t_ns[node] - ring.read_ns[node, i]) * 1e-9
        apply_reading(o, ring.twin[before], ring.twin[node], dt, behind, ring.role[node, i], ring.value[node, i])


@kernel
def _keep(now: Deviation, ring: NodeHistory, node: int) -> None:
    """Store a deviation as that of a node before its readings."""
    before = ring.before
    for i in range(now.x.size):
        before.x[node, i] = now.x[i]
        for j in range(now.x.size):
            before.P[node, i, j] = now.P[i, j]
    for i in range(now.joint.size):
        before.joint[node, i], before.joint_variance[node, i] = now.joint[i], now.joint_variance[i]
    for role in range(now.source.shape[0]):
        for i in range(now.source.shape[1]):
            before.source[node, role, i] = now.source[role, i]
        for i in range(now.last.shape[1]):
            before.last[node, role, i] = now.last[role, i]


@kernel
def _load(ring: NodeHistory, node: int, now: Deviation) -> None:
    before = ring.before
    for i in range(now.x.size):
        now.x[i] = before.x[node, i]
        for j in range(now.x.size):
            now.P[i, j] = before.P[node, i, j]
    for i in range(now.joint.size):
        now.joint[i], now.joint_variance[i] = before.joint[node, i], before.joint_variance[node, i]
    for role in range(now.source.shape[0]):
        for i in range(now.source.shape[1]):
            now.source[role, i] = before.source[node, role, i]
        for i in range(now.last.shape[1]):
            now.last[role, i] = before.last[node, role, i]
