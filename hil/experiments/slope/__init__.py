"""Climbing a slope at constant throttle: one run is one slope; `hil slope` finds the steepest (hil.campaign.traction).

experiment  whether the rover climbs one
limit       the steepest slope by statics
"""
