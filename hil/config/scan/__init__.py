"""Uneven ground from a scan: points from a file, a height map from points, and the map as text in a config."""
