"""Records in other programs' formats: TDMS, CSV, Parquet, MAT, MCAP. Names and units are those of `trial.h5`.

tables     the datasets of a record as flat columns
run        one run, or all of a campaign, into a format
csv_files, parquet_files, mat_file, tdms_file, mcap_file   the formats
"""
