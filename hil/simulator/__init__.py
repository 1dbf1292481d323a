"""The simulated rig at the protocol level: a plant in real time, with endpoints that real drivers open."""
