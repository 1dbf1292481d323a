"""The page server of `hil operate`, and what it can show of a rig and its runs."""
