"""From samples to what they mean: impact, forces, and the rover twin's view."""
