"""When what happened in an impact trial, and the lines and words that say so in its figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from hil.experiments.figure_form import FigureForm
from hil.recording import OpenRecord

DETECTED = "#cc3311"
_CONTACT, _CUT = "#008080", "#7a3db8"
BOX = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85}  # of words among lines


class Moments:
    """When things happened, and the axis on which the figure shows them: 0 s at the impact, or at the start if none."""

    def __init__(self, record: OpenRecord, summary: Mapping[str, Any], form: FigureForm) -> None:
        tick, self.form = record.tick, form
        impact_s = summary.get("impact_time_s")
        if impact_s is None and tick["impact"].any():
            impact_s = float(tick["t_ns"][tick["impact"].argmax()]) * 1e-9
        self.impact = impact_s is not None
        self.origin_s = float(impact_s or 0.0)
        self.label = "time after impact [s]" if self.impact else "time [s]"
        onset_s = summary.get("onset_s") if self.impact else None
        self.onset = None if onset_s is None else float(onset_s) - self.origin_s
        # where it is known when the drives obeyed, a delay of their link is in it
        cuts_ms = [summary.get(key) for key in ("cut_effective_ms", "cut_latency_ms")] if self.impact else []
        self.cut = next((float(cut_ms) * 1e-3 for cut_ms in cuts_ms if cut_ms is not None), None)
        self.t_daq = record.daq_t_ns * 1e-9 - self.origin_s
        self.t_tick = tick["t_ns"] * 1e-9 - self.origin_s

    def mark(self, axes: Axes, scale: float = 1.0) -> None:
        """Draws the lines of contact, threshold and cut."""
        if self.onset is not None:
            axes.axvline(self.onset * scale, color=_CONTACT, lw=self.form.line(1.2), ls=":", zorder=1.5)
        if self.impact:
            axes.axvline(0.0, color=DETECTED, lw=self.form.line(1.2), ls="--", zorder=1.5)
        if self.cut is not None:
            axes.axvline(self.cut * scale, color=_CUT, lw=self.form.line(1.2), zorder=1.5)

    def name(self, axes: Axes, span_ms: tuple[float, float]) -> None:
        """Words at these lines, in steps, so that they lie beside each other wherever the lines are.

        Args:
            axes: with a time in ms.
            span_ms: that it shows; a cut after it is named at its end.
        """
        named = [(0.0, 0.88, DETECTED, "right", f"over threshold\nat {self.origin_s:.4f} s")]
        if self.onset is not None:
            words = f"contact begins\n{-1e3 * self.onset:.1f} ms earlier"
            named.append((1e3 * self.onset, 0.66, _CONTACT, "right", words))
        if self.cut is not None:
            words = f"drives cut\n{1e3 * self.cut:.2f} ms later"
            inside = 1e3 * self.cut < span_ms[1]  # an operator's release may come later than is shown
            named.append((min(1e3 * self.cut, span_ms[1]), 0.98, _CUT, "left" if inside else "right", words))
        style: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "fontsize": self.form.font(8.5), "va": "top"}
        for at, height, colour, side, words in named:
            away = 0.012 * (span_ms[1] - span_ms[0]) * (1.0 if side == "left" else -1.0)
            axes.text(at + away, height, words, color=colour, ha=side, bbox=BOX, **style)
