"""The record of a run, `trial.h5`: written while it runs, read, recovered and verified afterwards."""

from hil.record.reading import FILE_NAME, RecordError, TrialRecord, read_trial
from hil.record.recorder import Recorder, open_recorder

__all__ = ["FILE_NAME", "RecordError", "Recorder", "TrialRecord", "open_recorder", "read_trial"]
