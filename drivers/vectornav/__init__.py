"""VectorNav inertial sensors. This file imports nothing; import the submodule that you need."""
