"""Read the record of a run, with h5py and with xarray, and draw a part of it.

Make a run, and then read it:

    .venv/bin/hil trial sim_impact --out runs/example
    .venv/bin/python examples/read_a_record.py runs/example

It writes `forces.png` into the working folder: forces of the sensors around the impact. Of that run it prints:

    6732 ticks in 6.73 s
    largest sum of the forces: 89.0 N
    impact at 4.730 s, trial accepted: yes
    largest normal force of front_left: 261 N
    samples of the sensors: 201960 of top, lower_left, lower_right
"""

import sys
from pathlib import Path

import h5py
from matplotlib.figure import Figure

import hil

folder = Path(sys.argv[1])

# Any HDF5 reader opens the file.
with h5py.File(folder / "trial.h5") as record:
    ticks = record["tick"][:]  # one row a tick
    fields, units = (record["tick"].attrs[name].astype(str).tolist() for name in ("fields", "units"))
print(f"{len(ticks)} ticks in {ticks['t_ns'][-1] * 1e-9:.2f} s")
print(f"largest sum of the forces: {ticks['force_sum_N'].max():.1f} {units[fields.index('force_sum_N')]}")

# With names of wheels and channels, and checked against its digests: an xarray Dataset (the extra `export`).
result = hil.open(folder)
run = result.to_xarray()
impact_s = result.summary["impact_time_s"]
print(f"impact at {impact_s:.3f} s, trial accepted: {'yes' if result.accepted else 'no'}")
print(f"largest normal force of front_left: {run['normal_force_N'].sel(wheel='front_left').max().item():.0f} N")
print(f"samples of the sensors: {run.sizes['sample_time']} of {', '.join(run['channel'].values)}")

part = run["force_N"].sel(time=slice(impact_s - 0.05, impact_s + 0.3))
figure = Figure(figsize=(7.0, 4.0))
axes = figure.subplots()
axes.plot(part["time"], part, label=run["channel"].values)
axes.set(xlabel="time [s]", ylabel=f"force [{part.attrs['units']}]")
axes.legend()
figure.savefig("forces.png")
