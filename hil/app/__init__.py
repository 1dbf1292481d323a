"""Runs a rig according to its config: the only package that names concrete drivers.

This file imports nothing: a worker that needs one module of the package loads only that module.
"""
