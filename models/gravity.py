"""Gravity on Earth, where the rigs stand."""

# Its acceleration [m/s^2], and the vector in world axes, z upwards.
GRAVITY_MPS2 = 9.81
EARTH_GRAVITY = (0.0, 0.0, -GRAVITY_MPS2)
