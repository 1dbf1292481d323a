"""Sinkage at rest: a wheel or a rover bears its load on the soil without turning its wheels (Petersen 2012, 7.2).

One run is one load. A simulated rig knows the sinkage; on a real one it is measured by hand, and goes into a table of
`hil identify --tests`.
"""
