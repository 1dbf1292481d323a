"""Wheel drives that speak one line of text, and an experiment that spins the wheels: what another package may bring."""
