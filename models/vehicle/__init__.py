"""The vehicle that plant and rover twin both step: rover, ground, drives, cylinders, loads, and an obstacle if any."""

from models.vehicle.model import HITTING_WHEELS, RAILS, VehicleModel, VehicleState, make_vehicle_state
from models.vehicle.settling import settle
from models.vehicle.step import Scene, address_of_run, move, run, run_bound, step

__all__ = [
    "HITTING_WHEELS",
    "RAILS",
    "Scene",
    "VehicleModel",
    "VehicleState",
    "address_of_run",
    "make_vehicle_state",
    "move",
    "run",
    "run_bound",
    "settle",
    "step",
]
