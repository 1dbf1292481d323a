"""Cross-checks of the residuals: thresholds that lead to Safe hold for the run."""

from __future__ import annotations

from hil.config.good_runs import unlike
from hil.config.model import UncheckedConfig
from hil.config.problems import Problem


def residual_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """A run is not stopped by thresholds of other runs, nor by none. At its end those of others judge nothing."""
    if config.residuals.reaction != "safe":
        return []
    why = "no residuals.calibration" if config.residuals.calibration is None else unlike(config)
    allowed = "mark, or thresholds of such runs: hil calibrate residuals RUN... --sheet FILE"
    depends = ("residuals.calibration",)
    return [Problem("residuals.reaction", f"safe with {why}", allowed, depends)] if why else []
