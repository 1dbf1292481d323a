"""From samples to estimates: impact, forces, and the prediction of the rover twin."""
