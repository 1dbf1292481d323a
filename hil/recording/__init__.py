"""The record of a run, `trial.h5`: written while it runs, read, recovered and verified afterwards."""

from hil.recording.reader import FILE_NAME, RecordError, TrialRecord, read_trial
from hil.recording.writer import RecordWriter, open_writer

__all__ = ["FILE_NAME", "RecordError", "RecordWriter", "TrialRecord", "open_writer", "read_trial"]
