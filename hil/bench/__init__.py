"""Benches: how fast and how punctual this machine is, beside peers measured on the same machine at the same time."""
