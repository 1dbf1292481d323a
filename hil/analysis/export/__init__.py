"""Records for other programs: TDMS, CSV, Parquet, MAT, MCAP, RRD, ROS 2. Names and units are those of `trial.h5`."""
