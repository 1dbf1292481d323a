"""The shape of the ground: height, normal and curvature at a place, and the ground's axes there."""

from models.terrain.surface import Slope, Terrain, slope_of, surface

__all__ = ["Slope", "Terrain", "slope_of", "surface"]
