"""Runs a rig as its config says: the only place that names concrete drivers.

This file imports nothing: whoever needs one module of the package, as a worker does, gets that one and no more.
"""
