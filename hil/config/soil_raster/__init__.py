"""A raster of soil classes that a config names: read, and outlined by polygons.

areas   classes of a file, and the outlines of their areas
file    the named file of a config
"""
