"""Bring-up through the same loop and limiter as a trial: turn wheels, or power one valve, for a short time.

experiment  its states, the goal of each tick, and what moved
overrides   the config of a jog, from what somebody asks for
"""
