"""A simulated NatNet server. This file imports nothing; import the submodule that you need."""
