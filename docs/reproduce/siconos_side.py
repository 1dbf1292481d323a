"""Siconos's part of siconos.py: run by the system's own Python, which has Siconos; knows nothing of this project.

`/usr/bin/python3 -I siconos_side.py solve|integrate` reads one archive of numpy arrays from standard input, and writes
one to standard output. What Siconos's libraries print goes to standard error.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import time
from typing import Any

import numpy as np

SOLVERS = ("NSGS", "NSN_AC")  # SICONOS_FRICTION_3D_...
# SICONOS_GLOBAL_FRICTION_3D_...: for the velocities and impulses, M v = q + H r, u = H^T v + b
GLOBAL = ("global NSN_AC", "global ADMM")
MOST = {"NSGS": 2000, "NSN_AC": 200, "global NSN_AC": 200, "global ADMM": 2000}  # rounds; 20,000 solve hardly more


def set_options(library: Any, options: Any, name: str, tolerance: float) -> Any:
    """Of a solver: NSGS with Newton's method at each contact, which is the fastest of its local solvers here.

    Args:
        library: siconos.numerics or siconos.kernel, whichever made the options.
        options: theirs.
        name: of `SOLVERS` or `GLOBAL`.
        tolerance: Siconos's, relative.
    """
    options.dparam[0], options.iparam[0] = tolerance, MOST[name]
    if name == "NSGS":
        library.solver_options_update_internal(options, 0, number("ONECONTACT_NSN"))
    return options


def number(name: str) -> int:
    """What Siconos calls a solver by."""
    form, _, method = f"FRICTION_3D_{name}".replace("3D_global ", "3D_GLOBAL ").partition("GLOBAL ")
    code = f"SICONOS_GLOBAL_{form}{method}" if method else f"SICONOS_{form}"
    return int(getattr(importlib.import_module("siconos.numerics"), code))


def global_problem(numerics: Any, name: str, half: Any, target: Any, friction: Any) -> Any:
    """The same problem with the velocities as unknowns: in scaled ones the mass matrix is the identity.

    ADMM is a hundred times as fast with full matrices; NSN_AC ends the process with some of them.
    """
    kept: Any = np.copy if name == "global ADMM" else importlib.import_module("scipy.sparse").csc_matrix
    problem = numerics.GlobalFrictionContactProblem()
    problem.dimension, problem.numberOfContacts, problem.env = 3, len(friction), None
    problem.M, problem.H, problem.q = kept(np.eye(half.shape[1])), kept(half.T), np.zeros(half.shape[1])
    problem.b, problem.mu = target, friction
    return problem


def solve(given: dict[str, Any]) -> dict[str, Any]:
    """Every problem by every solver from given impulses; seconds of its own call, the shortest of some."""
    numerics = importlib.import_module("siconos.numerics")
    counts, tolerance, repeats = given["counts"], float(given["tolerance"]), int(given["repeats"])
    names, speeds = SOLVERS + GLOBAL, int(given["speeds"])
    seconds = np.zeros((len(names), len(counts)))
    impulses: list[list[Any]] = [[] for _ in names]
    at, square = 0, 0
    for i, count in enumerate(counts):
        n = 3 * int(count)
        matrix = given["matrices"][square : square + n * n].reshape(n, n).copy()
        target, friction = given["targets"][at : at + n].copy(), given["frictions"][at // 3 : at // 3 + n // 3].copy()
        problem = numerics.FrictionContactProblem(3, matrix, target, friction)
        half = given["halves"][at * speeds : (at + n) * speeds].reshape(n, speeds)
        for k, name in enumerate(names):
            shortest = np.inf
            for _ in range(repeats):
                impulse, velocity = given["starts"][at : at + n].copy(), np.zeros(n)
                setting = set_options(numerics, numerics.SolverOptions(number(name)), name, tolerance)
                whole = global_problem(numerics, name, half, target.copy(), friction.copy())
                began = time.perf_counter(), time.thread_time()
                if name in SOLVERS:
                    numerics.fc3d_driver(problem, impulse, velocity, setting)
                else:
                    numerics.gfc3d_driver(whole, impulse, velocity, np.zeros(speeds), setting)
                # time of a processor counts where other work of the machine made the call last longer
                shortest = min(shortest, time.perf_counter() - began[0], time.thread_time() - began[1])
                if shortest > 2e-3:
                    break
            seconds[k, i] = shortest
            impulses[k].append(impulse)
        at, square = at + n, square + n * n
    return {"seconds": seconds, **{name: np.concatenate(impulses[k]) for k, name in enumerate(names)}}


def stepping_of(given: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
    """TimeStepping, MoreauJeanOSI, of a body with constant mass on contacts that are fixed to it; body, contacts."""
    kernel, rows, dt = importlib.import_module("siconos.kernel"), given["rows"], float(given["dt"])
    body = kernel.LagrangianLinearTIDS(np.zeros(6), given["speed"].copy(), np.diag(given["mass"]))
    body.setFExtPtr(given["force"].copy())
    model = kernel.NonSmoothDynamicalSystem(0.0, (int(given["steps"]) + 0.5) * dt)
    model.insertDynamicalSystem(body)
    contacts = []
    for c in range(len(rows) // 3):
        law = kernel.NewtonImpactFrictionNSL(float(given["restitution"]), 0.0, float(given["friction"]), 3)
        gap = np.array([float(given["gap"]), 0.0, 0.0])
        contacts.append(kernel.Interaction(law, kernel.LagrangianLinearTIR(rows[3 * c : 3 * c + 3].copy(), gap)))
        model.link(contacts[-1], body)
    name = SOLVERS[int(given["solver"])]
    problem = kernel.FrictionContact(3, number(name))
    set_options(kernel, problem.numericsSolverOptions(), name, float(given["tolerance"]))
    scheme = kernel.MoreauJeanOSI(float(given["theta"]))
    return kernel.TimeStepping(model, kernel.TimeDiscretisation(0.0, dt), scheme, problem), body, contacts


def integrate(given: dict[str, Any]) -> dict[str, Any]:
    """The body's motion, several times; seconds are the shortest of each step."""
    steps = int(given["steps"])
    states, impulses = np.zeros((steps, 12)), np.zeros((steps, len(given["rows"])))
    seconds = np.full(steps, np.inf)
    for _ in range(int(given["repeats"])):
        stepping, body, contacts = stepping_of(given)
        for k in range(steps):
            began = time.perf_counter()
            stepping.computeOneStep()
            seconds[k] = min(seconds[k], time.perf_counter() - began)
            impulses[k] = np.concatenate([one.lambda_(1) for one in contacts])
            stepping.nextStep()
            states[k] = np.concatenate((body.q(), body.velocity()))
    return {"states": states, "seconds": seconds, "impulses": impulses}


if __name__ == "__main__":
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as archive:
        arrays = dict(archive)
    made = io.BytesIO()
    np.savez(made, **{"solve": solve, "integrate": integrate}[sys.argv[1]](arrays))
    answer.write(made.getvalue())
    answer.close()
