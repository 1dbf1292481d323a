"""The shape of the ground: height, normal and curvature at a place, and the ground's axes there."""

from models.terrain.height_map import HeightMap, make_height_map
from models.terrain.surface import Slope, Terrain, slope_of, surface, uneven_ground

__all__ = ["HeightMap", "Slope", "Terrain", "make_height_map", "slope_of", "surface", "uneven_ground"]
