"""The fixed-step loop: its clocks, the tick, and the access to the devices."""
