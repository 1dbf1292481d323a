"""Benchmarks: speed and latency of this machine, with other programs measured on the same machine at the same time."""
