"""Records in other programs' formats: TDMS, CSV, Parquet, MAT, MCAP, RRD. Names and units are those of `trial.h5`.

tables     the datasets of a record as flat columns
run        one run, or all of a campaign, into a format
csv_files, parquet_files, mat_file, tdms_file, mcap_file, rrd_file   the formats
motion     how the rover moved, for MCAP and RRD
channels   what Foxglove shows, in a file and from the live server
messages   the messages of a record in these channels
"""
