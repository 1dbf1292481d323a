"""The soil estimated in addition to the twin, from pull and torque at the measured slip, while the rover drives."""
