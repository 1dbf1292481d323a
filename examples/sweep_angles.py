"""A sweep: the same trial at several angles of the obstacle, and what the angle does to the peak force.

Run it with `.venv/bin/python examples/sweep_angles.py`; it takes ten seconds and leaves no files. Without
`workers` it uses all processors. The same as a command, with a table that is written: `hil sweep sim_impact --over
trial.angle_deg=40:90:10` (docs/how-to/run-a-campaign.md). A DataFrame needs the extra `export`. It prints:

    angle [deg]  peak force [N]  effective kinetic energy [J]
    40           162             0.128
    50           170             0.204
    60           176             0.223
    70           166             0.191
    80           148             0.149
    90           128             0.114
"""

import hil

config = hil.load("sim_impact", {"telemetry.endpoint": ""})
runs = hil.sweep(config, {"trial.angle_deg": range(40, 91, 10)}, workers=1).to_dataframe()

print("angle [deg]  peak force [N]  effective kinetic energy [J]")
for _, run in runs.iterrows():
    force_N, energy_J = run["contact_force_peak_N"], run["effective_kinetic_energy_J"]
    print(f"{run['trial.angle_deg']:<12} {force_N:<15.0f} {energy_J:.3f}")
