"""Run one impact trial on the simulated rig, and read its summary.

Run it with `.venv/bin/python examples/run_a_trial.py`. It takes a few seconds, the first time a minute: models are
compiled once. It leaves no files;
`result.save("runs/a")` would (record, summary and figure). It prints:

    accepted: True
    peak contact force of both wheels: 176 N
    effective kinetic energy before the impact: 0.223 J
    drives cut 1.8 ms after the first sample over the threshold
    the sensors' sum is largest 40 ms after the impact
"""

import hil

# A shipped config, with two of its values changed. Every key is in docs/reference/config.md.
config = hil.load("sim_impact", {"trial.angle_deg": 60, "telemetry.endpoint": ""})
result = hil.run(config, progress=True)  # what is going on is told on standard error

summary = result.summary  # as summary.json has it: docs/reference/summary.md
print(f"accepted: {summary['accepted']}", *summary["reasons"])
print(f"peak contact force of both wheels: {summary['contact_force_peak_N']:.0f} N")
print(f"effective kinetic energy before the impact: {summary['effective_kinetic_energy_J']:.3f} J")
print(f"drives cut {summary['cut_latency_ms']:.1f} ms after the first sample over the threshold")

ticks = result.ticks  # one row a tick, as /tick of a record: docs/reference/record.md
largest = ticks["force_sum_N"].argmax()
after_s = ticks["t_ns"][largest] * 1e-9 - summary["impact_time_s"]
print(f"the sensors' sum is largest {after_s * 1e3:.0f} ms after the impact")
