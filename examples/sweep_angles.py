"""A sweep: the same trial at several angles of the obstacle, and what the angle does to the peak force.

Run it with `.venv/bin/python examples/sweep_angles.py`; it takes ten seconds and leaves no files. On all processors and
with a table as its result: `hil sweep sim_impact --over trial.angle_deg=40:90:10` (docs/how-to/run-a-campaign.md). It
prints:

    angle [deg]  peak force [N]  effective kinetic energy [J]
    40           163             0.128
    50           171             0.204
    60           172             0.223
    70           167             0.191
    80           149             0.149
    90           129             0.114
"""

from hil.app.run import run
from hil.config import load_config

print("angle [deg]  peak force [N]  effective kinetic energy [J]")
for angle_deg in range(40, 100, 10):
    config = load_config("sim_impact", [f"trial.angle_deg={angle_deg}", "telemetry.endpoint=''"])
    summary = run(config).summary
    force_N, energy_J = summary["contact_force_peak_N"], summary["effective_kinetic_energy_J"]
    print(f"{angle_deg:<12} {force_N:<15.0f} {energy_J:.3f}")
