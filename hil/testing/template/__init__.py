"""The smallest driver and the smallest experiment of a package of one's own; `hil init` copies them under its name."""
