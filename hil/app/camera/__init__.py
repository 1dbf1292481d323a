"""The camera that films a run (section `camera`): no tick waits for it, and its failure ends no run.

capture    starts the process of a V4L2 camera, and puts its frames on the record's clock
process    entry point of that process
v4l2       frames of a V4L2 camera, by linuxpy
marks      what it adds to the events of the record: its trigger, its silence
silence    where a camera gave no frames, as an event of the record
simulated  draws the frames of a simulated camera from the record
"""
