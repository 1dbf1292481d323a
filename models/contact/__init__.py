"""Contact of wheels with the obstacle and with the ground."""
