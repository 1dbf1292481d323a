"""Uneven ground from a scan: what its file holds, a height map of it, and the map as text in a config."""
