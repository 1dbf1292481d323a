"""The soil estimated beside the twin, from pull and torque at the measured slip, while the rover drives."""
