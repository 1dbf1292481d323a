"""Operators: live values, the command socket and its client, keys."""
