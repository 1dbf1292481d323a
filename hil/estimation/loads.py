"""Normal forces of the wheels and drawbar pull, from the samples of leg sensors and load cell."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from drivers.messages import DaqBlock
from hil.config.rig import Rig
from hil.config.rig_setup import full_scales, normal_force_rows, offsets
from hil.messages.stages import ByWheel, LoadState
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel

# A channel counts as saturated from this share of full scale.
SATURATION = 0.99
# Time constants of the low-pass after which it has settled.
SETTLED = 5.0

# slots of _Loads.whole
COUNT, BAD, SATURATED, ZERO_COUNT = range(4)


class _Loads(NamedTuple):
    """Constants and state; readings are in V or, where the driver reads loads, in N and N m."""

    rows: FloatArray  #: (outputs, channels) loads from readings [N/V]
    bias: FloatArray  #: (channels,) [V]
    share: float  #: of a new sample in the low-pass
    full_scale: FloatArray  #: (channels,) [V] from which a channel counts as saturated
    lifted_ns: int  #: samples before this time [ns] are averaged for the bias
    load: FloatArray  #: (outputs,) filtered [N]
    whole: IntArray  #: counters, see the slots above
    last: FloatArray  #: (channels,) newest sample [V]
    still: IntArray  #: (channels,) number of samples in a row, up to the newest, that equal the newest bit for bit


@kernel
def _digest(loads: BoundArguments[_Loads], t_ns: IntArray, volts: FloatArray) -> None:
    """Process a block (n, channels) [V] with its times (n,) [ns].

    Samples of the lifted rover set the bias (MacMahon 2016, 6.2.4). A sample that is not finite is left out, and
    counted.
    """
    p = unpack(loads)
    for i in range(t_ns.size):
        finite = True
        for c in range(p.bias.size):
            finite = finite and np.isfinite(volts[i, c])
        if not finite:
            p.whole[BAD] += 1
            continue
        for c in range(p.bias.size):
            p.still[c] = p.still[c] + 1 if volts[i, c] == p.last[c] else 1
            p.last[c] = volts[i, c]
            if abs(volts[i, c]) >= p.full_scale[c]:
                p.whole[SATURATED], p.still[c] = 1, 0
        if t_ns[i] < p.lifted_ns:
            p.whole[ZERO_COUNT] += 1
            for c in range(p.bias.size):
                p.bias[c] += (volts[i, c] - p.bias[c]) / p.whole[ZERO_COUNT]
            continue
        p.whole[COUNT] += 1
        for output in range(p.load.size):
            load = 0.0
            for c in range(p.bias.size):
                load += p.rows[output, c] * (volts[i, c] - p.bias[c])
            p.load[output] = load if p.whole[COUNT] == 1 else p.load[output] + p.share * (load - p.load[output])


class LoadEstimator:
    """Low-passed loads from the blocks of a run."""

    def __init__(self, rig: Rig) -> None:
        loads, layout = rig.config.loads, rig.layout
        assert loads is not None
        self._offset = offsets(rig.config)
        rows, channels = normal_force_rows(rig.config), len(layout.loads)
        self._wheels = len(layout.wheels) * layout.leg_sensors
        self._settled = math.ceil(SETTLED * loads.rate_hz / (2.0 * math.pi * loads.filter_hz))
        self._lifted = loads.lifted_s > 0.0
        self._loads = _Loads(
            rows=rows,
            bias=self._offset.copy(),
            share=1.0 - math.exp(-2.0 * math.pi * loads.filter_hz / loads.rate_hz),
            full_scale=SATURATION * full_scales(rig.config),
            lifted_ns=round(loads.lifted_s * 1e9),
            load=np.zeros(len(rows)),
            whole=np.zeros(4, np.int64),
            last=np.zeros(channels),
            still=np.zeros(channels, np.int64),
        )
        self._bound = BoundArguments(self._loads)
        #: (wheels,) normal forces; NaN before the first sample; empty without leg sensors
        self.wheel_load_N: ByWheel = ()
        self.pull_N: tuple[float, ...] = ()  #: (1,) drawbar pull, likewise
        self.state = LoadState(True, False, ())  #: of the channels after the newest blocks
        self.reset()

    @property
    def zeroed(self) -> bool:
        """The bias is known, and the low-pass has settled since."""
        count, zero_count = self._loads.whole[COUNT], self._loads.whole[ZERO_COUNT]
        return bool(count >= self._settled and (zero_count or not self._lifted))

    def take(self, blocks: tuple[DaqBlock, ...]) -> None:
        """Take in new blocks."""
        loads = self._loads
        bad = int(loads.whole[BAD])
        for block in blocks:
            _digest(self._bound, block.t_ns, block.values)
        self._evaluate(finite=int(loads.whole[BAD]) == bad)

    def rest(self) -> None:
        """A tick without a new block: no sample of it is bad."""
        if not self.state.finite:
            self.state = LoadState(True, self.state.saturated, self.state.still)

    def reset(self) -> None:
        """Forget all samples."""
        loads = self._loads
        loads.bias[:] = 0.0 if self._lifted else self._offset
        loads.load[:], loads.last[:] = math.nan, math.nan
        loads.whole[:], loads.still[:] = 0, 0
        self._evaluate(finite=True)

    def _evaluate(self, *, finite: bool) -> None:
        loads = self._loads
        values = tuple(loads.load.tolist())
        self.wheel_load_N, self.pull_N = values[: self._wheels], values[self._wheels :]
        self.state = LoadState(finite, bool(loads.whole[SATURATED]), tuple(loads.still.tolist()))
