"""Records in other programs' formats: TDMS, CSV, Parquet, MAT, MCAP, RRD. Names and units are those of `trial.h5`."""
