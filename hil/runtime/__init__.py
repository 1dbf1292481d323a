"""The fixed-step loop: its clocks, the tick, and the loop's hold on the devices."""
