"""Drawbar pull at a slip: constant throttle, held back until the slip settles (Petersen 2012, 6.2.1).

A simulated rig has a winch; on a real one a person or a winch pulls, and the experiment only measures. One run is one
point; `hil drawbar` makes the series (hil.campaign.traction).
"""
