"""Wheel drives and pneumatic bogie cylinders."""
