"""The vehicle that plant and rover twin both step: rover, ground, drives, cylinders, loads, and an obstacle if any."""

from models.vehicle.model import HITTING_WHEELS, RAILS, VehicleModel, VehicleState, make_vehicle_state
from models.vehicle.settling import settle
from models.vehicle.step import Scene, address_of_run, move, run, run_bound, step
from models.vehicle.step_lengths import StepLengths, longest_step_ns

__all__ = [
    "HITTING_WHEELS",
    "RAILS",
    "Scene",
    "StepLengths",
    "VehicleModel",
    "VehicleState",
    "address_of_run",
    "longest_step_ns",
    "make_vehicle_state",
    "move",
    "run",
    "run_bound",
    "settle",
    "step",
]
