"""Strain gauges on the obstacle's frame as a second source of the peak (MacMahon 2016, 6.2.2): summary keys."""

from __future__ import annotations

import math

import numpy as np

from hil.config.load_channels import links_gain
from hil.config.schema.loads import FRAME
from hil.experiments.base import Finished, Summary
from hil.experiments.summary import finite
from hil.signals.strain import strain_peak
from hil.signals.uncertainty import half_width

# As in `hil.experiments.impact.table`.
STRAIN_ROWS = (
    ("peak force, strain gauges", "strain_peak_N", "N", 1, 1.0),
    ("95 % interval, half", "strain_peak_u95_N", "N", 1, 1.0),
)


def strain_keys(run: Finished) -> Summary:
    """Peak of one wheel's force by the strain gauges, and its interval; no keys of a rig without them."""
    config, loads, impact_ns = run.config, run.config.loads, run.cycle.tick_logger.impact_ns
    if loads is None or loads.strain_gauges is None:
        return {}
    keys, gauges, found = [key for _, key, *_ in STRAIN_ROWS], loads.strain_gauges, None
    part, part_u95 = config.frame_part(gauges.link)
    if impact_ns is not None and run.load_samples is not None:
        t_ns, volts = map(np.asarray, run.load_samples)
        force = volts[:, config.layout.loads.index(FRAME)] * links_gain(config) / part
        relative_u95 = math.hypot(gauges.sensitivity_u95, part_u95)
        found = strain_peak(t_ns, force, impact_ns, bandwidth_hz=gauges.bandwidth_hz, relative_u95=relative_u95)
    values = (None, None) if found is None else (finite(found.value), finite(half_width(found.standard)))
    return dict(zip(keys, values, strict=True))
