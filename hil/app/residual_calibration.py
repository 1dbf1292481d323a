"""Thresholds of residuals from the records of good runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hil.config import Config, ConfigError, parse_config
from hil.experiments.impact.sensing import KEYS
from hil.recording import RecordError, read_trial
from hil.recording.run_folder import FolderError, finished_run, summary_of
from hil.residuals.calibration import thresholds
from hil.residuals.evidence import RunEvidence
from hil.residuals.judgement import IMPLAUSIBLE
from hil.residuals.table import measured
from hil.signals.calibration import CalibrationError


def calibrate_residuals(runs: Sequence[Path]) -> dict[str, Any]:
    """The content of a calibration file, from good runs.

    Args:
        runs: their folders. One that was not accepted only because of residuals is a good run: its thresholds were of
            other runs.

    Raises:
        CalibrationError: a run that cannot be read or is not good, too few runs, or runs that are not alike.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise CalibrationError("found a run twice, allowed: each once")
    measurements = [_measured(run) for run in runs]
    return thresholds([config for config, _ in measurements], [values for _, values in measurements])


def _measured(run: Path) -> tuple[Config, Mapping[str, Mapping[str, float]]]:
    try:
        summary = summary_of(finished_run(run))
        record = read_trial(run)
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    except (FolderError, RecordError, ConfigError) as error:
        raise CalibrationError(f"{run}: {error}") from None
    reasons = [reason for reason in (summary or {}).get("reasons") or () if not str(reason).startswith(IMPLAUSIBLE)]
    if summary is None or summary.get("aborted") or reasons:
        why = "; ".join(map(str, reasons)) or "it did not come to its end"
        raise CalibrationError(f"{run}: {why}; allowed: runs that are good but for residuals")
    if config.section.impact and config.daq and not set(KEYS) <= summary.keys():
        raise CalibrationError(f"{run}: its summary was made by another version: make it again with hil recover")
    return config, measured(RunEvidence(config, record.tick, summary))
