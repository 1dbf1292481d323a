"""Motions as data: from a rover's geometry to wheel speeds and joint angles over time."""
