"""Operate a rig from a script: arm it, start a run, wait for its end, read the summary.

Start a rig in one terminal, and this program in another one, as the same user on the same computer:

    .venv/bin/hil operate sim_impact
    .venv/bin/python examples/operate_a_rig.py

The program holds the operator lease while it runs: if it ends or hangs, the run ends too. It prints:

    state idle, 0 runs so far
    armed
    run 1: accepted True, peak contact force 172 N

More, also from another computer: docs/how-to/operate.md. Software is not the emergency stop.
"""

from hil.operator.client import CommandClient

with CommandClient.running(name="example") as rig, rig.lease():
    before = rig.status()
    print(f"state {before['state']}, {before['runs']} runs so far")

    rig.arm()  # in the hands of the loop; what becomes of it is in the status
    status = rig.wait_until(lambda status: status["armed"] or status["refused"] or status["faults"])
    if not status["armed"]:
        raise SystemExit(f"not armed: {status['message']}")
    print("armed")

    rig.start()
    status = rig.wait_until(lambda status: status["runs"] > before["runs"], within_s=300.0)
    summary = status["summary"]
    force_N = summary["contact_force_peak_N"]
    print(f"run {status['runs']}: accepted {summary['accepted']}, peak contact force {force_N:.0f} N")
