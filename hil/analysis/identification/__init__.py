"""The parameters of a soil from steady drives, wheel tests and sinkage tests (Petersen 2012, 6.2)."""
