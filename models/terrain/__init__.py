"""The shape of the ground: height, normal and curvature at a place, and the ground's axes there."""

from models.terrain.given_contacts import GivenContacts, make_given_contacts
from models.terrain.height_map import HeightMap, make_height_map
from models.terrain.surface import Slope, Terrain, ground_from_outside, slope_of, surface, uneven_ground

__all__ = [
    "GivenContacts",
    "HeightMap",
    "Slope",
    "Terrain",
    "ground_from_outside",
    "make_given_contacts",
    "make_height_map",
    "slope_of",
    "surface",
    "uneven_ground",
]
