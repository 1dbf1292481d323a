"""In which form a figure is wanted: on the screen, or in the columns of a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

Width = Literal["screen", "single", "double"]
Format = Literal["png", "pdf", "svg"]
# Of a journal's column, and of its page [mm].
WIDTHS_MM = {"single": 85.0, "double": 180.0}
MM_PER_INCH = 25.4
# By the ending of the file.
FORMATS: tuple[Format, ...] = ("png", "pdf", "svg")


class FigureForm(NamedTuple):
    """Width and format of a figure, and what must stand across it."""

    width: Width = "screen"  #: screen, as a run leaves it; single or double column of a journal
    notice: str = ""  #: why record and summary are not to be trusted; empty if they are
    to: Format = "png"  #: ending of its file

    def path(self, folder: Path, name: str) -> Path:
        """Its file; a width but the screen's, or a notice, has its own: trial.single.pdf, trial.unverified.png."""
        width = "" if self.width == "screen" else f".{self.width}"
        return folder / f"{name}{width}{'.unverified' if self.notice else ''}.{self.to}"

    @property
    def columns(self) -> int:
        """Panels next to each other."""
        return 1 if self.width == "single" else 2

    def size_in(self, screen: tuple[float, float], heights_mm: tuple[float, float]) -> tuple[float, float]:
        """Width and height [in].

        Args:
            screen: of the figure on the screen [in].
            heights_mm: of a single and of a double column [mm].
        """
        if self.width == "screen":
            return screen
        return WIDTHS_MM[self.width] / MM_PER_INCH, heights_mm[self.width == "double"] / MM_PER_INCH

    def font(self, screen: float) -> float:
        """Size of a font [pt] that has this size on the screen: in print none is smaller than 6."""
        return screen if self.width == "screen" else 6.0 + 0.35 * max(screen - 8.5, 0.0)

    def line(self, screen: float) -> float:
        """Width of a line [pt] that has this width on the screen."""
        return screen if self.width == "screen" else 0.65 * screen
