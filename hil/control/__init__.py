"""Controllers: what the rig should do next."""
