"""Steps of the filter; readings put into the step where they belong, however late they come, or rejected."""

from __future__ import annotations

import math

from models.kernels.compiled import FloatArray, kernel
from models.observer.model import (
    AGAIN,
    ANGLES,
    BIAS_X,
    BIAS_Y,
    BIAS_YAW,
    BY_MEAN,
    BY_ROW,
    DROPPED,
    EQUAL,
    FAST_YAW,
    FATE,
    FROZEN,
    HEAD,
    HEADING,
    IMU,
    IN_ROW,
    JOINTS,
    LEFT_OUT,
    MEAN,
    MOST_READINGS,
    MOST_SIGNED,
    MOTION,
    NEWEST,
    NODES,
    ONE_SIDED,
    REJECTED,
    SHAKEN,
    SIGNED,
    STATES,
    USED,
    VELOCITY,
    WAS_REJECTED,
    WAS_USED,
    Deviation,
    NodeHistory,
    Observer,
    Scratch,
    SourceLimits,
    X,
    Y,
)
from models.observer.rows import imu_rows, look_back, motion_rows, place_twin, shift_row
from models.observer.step import predict

# An innovation counts at most so many standard deviations in the running means: one wrong reading is no trend.
MOST_COUNTED = 4.0


@kernel
def apply_reading(
    o: Observer, before: FloatArray, after: FloatArray, dt: float, behind: float, role: int, value: FloatArray
) -> None:
    """Apply a reading that was taken `behind` [s] the later of two rows of the twin, dt apart, to `o.now`.

    All values of a reading are linearised about the same deviation. It is rejected as a whole, and so is one of a
    source that is left out.
    """
    scratch, now, source = o.scratch, o.now, o.now.source[role]
    was_out = source[LEFT_OUT] != 0.0
    place_twin(before, after, 1.0 - behind / dt, scratch.at)
    _note_equal(o.limits, now, role, value, abs(scratch.at[VELOCITY]))
    for i in range(STATES):
        scratch.x0[i] = scratch.x[i] = now.x[i]
        for j in range(STATES):
            scratch.P[i, j] = now.P[i, j]
    if role == JOINTS:
        count, square = _apply_joints(o, value)
    else:
        look_back(scratch, before, after, dt, behind)
        if role == MOTION:
            rows = motion_rows(o.motion, scratch, value)
        else:
            rows = imu_rows(o, before, after, dt, value)
        count, square = rows, 0.0
        for row in range(rows):
            shift_row(scratch.H[row], scratch.x0, scratch.at, behind)
            signed = _apply(now, scratch, scratch.H[row], scratch.left[row], scratch.R[row])
            scratch.signed[row] = signed
            square += signed * signed
    if count == 0 and role == MOTION:  # out of the room
        good, count, square, scratch.signed[0] = False, 1, 2.0 * o.limits.most[1], 0.0
    else:
        good = square <= o.limits.most[count]
    if count > 0:
        _judge(o.limits, source, scratch.signed, role, good, square, count)
    if not good or source[LEFT_OUT] != 0.0:
        _take_back(now, scratch, role)
    if not was_out and (source[LEFT_OUT] == ONE_SIDED or source[LEFT_OUT] == BY_MEAN):
        _forget(o, role)


@kernel
def _take_back(now: Deviation, scratch: Scratch, role: int) -> None:
    """The deviation as it was before the reading."""
    for i in range(STATES):
        now.x[i] = scratch.x[i]
        for j in range(STATES):
            now.P[i, j] = scratch.P[i, j]
    if role == JOINTS:
        for i in range(now.joint.size):
            now.joint[i], now.joint_variance[i] = scratch.joint[i], scratch.joint_variance[i]


@kernel
def _forget(o: Observer, role: int) -> None:
    """Forget what a source that drifted has taught: the twin alone is closer. Places stay, as uncertain as at first."""
    now = o.now
    if role == JOINTS:
        for i in range(now.joint.size):
            now.joint[i], now.joint_variance[i] = 0.0, o.process.apart[3 + i] ** 2
        return
    for i in range(STATES):
        bias = i in (BIAS_YAW, BIAS_X, BIAS_Y)
        if (role == IMU) != bias and not (role == IMU and i == FAST_YAW):
            continue
        for j in range(STATES):
            now.P[i, j] = now.P[j, i] = 0.0
        now.P[i, i] = o.start[i]
        if i not in (X, Y, HEADING):
            now.x[i] = 0.0


@kernel
def _apply(now: Deviation, scratch: Scratch, h: FloatArray, left: float, variance: float) -> float:
    """One value: `left` is its residual where the rows are linearised. Returns its normalised innovation."""
    x, P, gain, residual, total = now.x, now.P, scratch.gain, left, variance
    for i in range(STATES):
        gain[i] = 0.0
    for j in range(STATES):
        if h[j] != 0.0:
            residual -= h[j] * (x[j] - scratch.x[j])
            for i in range(STATES):
                gain[i] += P[i, j] * h[j]
    for j in range(STATES):
        total += h[j] * gain[j]
    inverse = 1.0 / total
    for i in range(STATES):
        x[i] += gain[i] * inverse * residual
        for j in range(i + 1):
            P[i, j] -= gain[i] * inverse * gain[j]
            P[j, i] = P[i, j]
    return residual * math.sqrt(inverse)


@kernel
def _apply_joints(o: Observer, value: FloatArray) -> tuple[int, float]:
    """Update the angles of the joints, each by a separate filter; a value that was not measured (NaN) is left out."""
    now, scratch, joints = o.now, o.scratch, o.joints
    for i in range(now.joint.size):
        scratch.joint[i], scratch.joint_variance[i] = now.joint[i], now.joint_variance[i]
    count, square = 0, 0.0
    for i in range(joints.joint.size):
        if value[i] == value[i]:
            joint = joints.joint[i]
            residual = joints.sign[i] * (value[i] - joints.zero[i]) - scratch.at[ANGLES + joint] - now.joint[joint]
            total = now.joint_variance[joint] + joints.variance
            gain = now.joint_variance[joint] / total
            now.joint[joint] += gain * residual
            now.joint_variance[joint] -= gain * now.joint_variance[joint]
            scratch.signed[count] = residual / math.sqrt(total)
            count, square = count + 1, square + residual * residual / total
    return count, square


@kernel
def _note_equal(limits: SourceLimits, now: Deviation, role: int, value: FloatArray, speed: float) -> None:
    """Count readings in a row that are equal bit for bit while the rover drives: at rest an encoder may stand."""
    last, same = now.last[role], True
    for i in range(value.size):
        same = same and (value[i] == last[i] or (value[i] != value[i] and last[i] != last[i]))
        last[i] = value[i]
    source = now.source[role]
    if not same:
        source[EQUAL] = 1.0
    elif speed > limits.drives:
        source[EQUAL] += 1.0


@kernel
def _judge(
    limits: SourceLimits, source: FloatArray, signed: FloatArray, role: int, good: bool, square: float, count: int
) -> None:
    """Note how a reading did; leave its source out, for good, if it cannot be believed."""
    source[NEWEST] = square / count
    counted = min(square, 2.0 * limits.most[count]) / count
    source[MEAN] += limits.share * (counted - source[MEAN])
    largest = 0.0
    for i in range(min(count, MOST_SIGNED)):
        innovation = min(max(signed[i], -MOST_COUNTED), MOST_COUNTED)
        source[SIGNED + i] += limits.share * (innovation - source[SIGNED + i])
        largest = max(largest, abs(source[SIGNED + i]))
    if good and source[LEFT_OUT] == 0.0:
        source[IN_ROW], source[FATE] = 0.0, WAS_USED
        source[USED] += 1.0
    else:
        source[IN_ROW], source[FATE] = source[IN_ROW] + 1.0, WAS_REJECTED
        source[REJECTED] += 1.0
    if source[LEFT_OUT] != 0.0:
        return
    if limits.equal[role] > 0.0 and source[EQUAL] >= limits.equal[role]:
        source[LEFT_OUT] = FROZEN
    elif source[IN_ROW] >= limits.in_row:
        source[LEFT_OUT] = BY_ROW
    elif source[MEAN] > limits.most_mean[count]:
        source[LEFT_OUT] = BY_MEAN
    elif largest > limits.most_signed:
        source[LEFT_OUT] = ONE_SIDED


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
