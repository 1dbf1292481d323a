"""How long the allocation of wheel loads takes inside the ticks of a run, and its quadratic program alone, beside DAQP.

`python benchmarks/allocation.py [--seconds 60] [--mode max_traction] [--realtime]` runs sim_normal_force and prints
p50, p99 and p99.9. Of three calls in a row one is timed as a whole; before one the program is solved by its kernel
alone, and before one by DAQP: all are out of the caches, as in any tick. The second row of each leaves out the calls in
which this thread was preempted.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import daqp
import numpy as np

from hil.app.run import run
from hil.config import load_config
from hil.control.normal_force import Allocator
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import kernel
from models.statics.quadratic_program import QuadraticProgram, make_quadratic_program, solve_quadratic_program

HARD, SOFT = 0, 8  # DAQP's marks of limits
WHOLE, KERNEL, LIBRARY = "whole call", "program alone", "program alone, DAQP"


@kernel
def solve_bound(bound: BoundArguments[QuadraticProgram]) -> bool:
    return solve_quadratic_program(unpack(bound))


class Timed:
    """Allocations of a run, with times [ns] by what was timed."""

    def __init__(self) -> None:
        self.times_ns: dict[str, list[tuple[int, bool]]] = {WHOLE: [], KERNEL: [], LIBRARY: []}
        self._allocate, self._calls = Allocator.allocate, 0
        self._model, self._solve = daqp.Model(), self._by_kernel(make_quadratic_program(3, 6, 1e-6))

    def allocate(self, allocator: Allocator, *state: Any) -> Any:
        program, turn = allocator._program.qp, self._calls % 3
        if not self._calls:
            self._solve, self._sense = self._by_kernel(program), np.array([HARD] * 3 + [SOFT] * 6, dtype=np.int32)
        self._calls += 1
        if turn == 0:
            return self._time(WHOLE, lambda: self._allocate(allocator, *state))
        if turn == 1:
            self._time(KERNEL, self._solve)
        elif self._calls == 3:
            self._model.setup(program.H, program.f, program.A, program.upper, program.lower, self._sense)
        else:
            self._time(LIBRARY, lambda: self._by_daqp(program))
        return self._allocate(allocator, *state)

    def _by_kernel(self, program: QuadraticProgram) -> Callable[[], bool]:
        bound = BoundArguments(program)
        solve_bound(bound)
        return lambda: solve_bound(bound)

    def _by_daqp(self, program: QuadraticProgram) -> None:
        self._model.update(program.H, program.f, program.A, program.upper, program.lower, self._sense)
        self._model.solve()

    def _time(self, what: str, call: Callable[[], Any]) -> Any:
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
        start_ns = time.perf_counter_ns()
        found = call()
        took_ns = time.perf_counter_ns() - start_ns
        preempted = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw > before
        self.times_ns[what].append((took_ns, preempted))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of controlled drive")
    parser.add_argument("--mode", default="uniform")
    parser.add_argument("--realtime", action="store_true")
    given = parser.parse_args()
    steps = f"normal_force.steps=[{{for_s: 1, mode: passive}}, {{for_s: {given.seconds:g}, mode: {given.mode}}}]"
    clock = "clock=realtime" if given.realtime else "clock=lockstep"
    timed = Timed()

    def allocate(allocator: Allocator, *state: Any) -> Any:
        return timed.allocate(allocator, *state)

    Allocator.allocate = allocate  # type: ignore[method-assign]
    outcome = run(load_config("sim_normal_force", ["telemetry.endpoint=''", steps, clock]))
    print(f"exit status {outcome.exit_code}, load {os.getloadavg()[0]:.1f}")
    print("timed | calls | p50, p99, p99.9 [us]")
    for what, times in timed.times_ns.items():
        for name, kept in ((what, times), (f"{what}, not preempted", [one for one in times if not one[1]])):
            quantiles = np.percentile([took for took, _ in kept], (50, 99, 99.9)) * 1e-3
            print(f"{name} | {len(kept)} | {', '.join(f'{value:.1f}' for value in quantiles)}")


if __name__ == "__main__":
    main()
