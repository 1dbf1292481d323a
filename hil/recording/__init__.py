"""The record of a run, `trial.h5`: written while it runs, read, recovered and verified afterwards."""

from hil.recording.content import OpenRecord, TrialRecord, in_blocks
from hil.recording.reader import FILE_NAME, RecordError, open_trial, read_trial
from hil.recording.writer import RecordWriter, open_writer

__all__ = [
    "FILE_NAME",
    "OpenRecord",
    "RecordError",
    "RecordWriter",
    "TrialRecord",
    "in_blocks",
    "open_trial",
    "open_writer",
    "read_trial",
]
