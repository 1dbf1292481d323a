"""Following: a speed of rims or rover over time, or a slip, by what is measured (Petersen 2012, 6.2, 6.3.1)."""
