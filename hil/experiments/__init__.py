"""What a rig is used for: each experiment says what happens when, and what its run comes down to."""
