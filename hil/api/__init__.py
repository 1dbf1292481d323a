"""The front door from Python: what `import hil` gives, under the names that it gives it."""
