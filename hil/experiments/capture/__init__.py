"""Capture: a space arm meets a payload, latches it, holds it rigidly, and brings it to rest.

states      of the experiment, and which of them are phases of a capture
experiment  the goal of each tick
judgement   times, energies, momentum, and turns of the joints from the record
momentum    of arm and payload, from poses and joint angles
figure      capture.png
"""
