"""Analysis of recorded sensor samples: arrays in, numbers with their uncertainty out; no config, no files."""
