"""Capture: a space arm meets a payload, latches it, holds it rigidly, and brings it to rest.

experiment  its states, and the goal of each tick
judgement   times, energies, momentum, and turns of the joints from the record
momentum    of arm and payload, from poses and joint angles
figure      capture.png
"""
