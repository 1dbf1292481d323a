"""Analysis of recorded sensor samples after a run: arrays in, numbers with their uncertainty out; no config, no files.

channels      what the analysis knows of the sensors
droop         the AC coupling inverted; its time constant from a pressed and released sensor
traces        raw, corrected and filtered force over time, and what was removed as vibration
vibration     steady tones and the ring of the shield: found in the spectrum, removed without shifting the peak
impact        onset, peak, impulse, duration, rise time, hits and load point of one impact
uncertainty   how noise, calibration and removed vibration add up to 95 % intervals
calibration   sensitivity, offset and time constant from a record of a calibration
"""
