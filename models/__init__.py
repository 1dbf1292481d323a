"""Physics of rover, soil, impact, actuators and sensors. Pure: arrays in, arrays out; no I/O, no clock, no logging."""
