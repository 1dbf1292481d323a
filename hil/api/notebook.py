"""The output of a notebook's cell, if this program runs in a notebook."""

from __future__ import annotations

import importlib
import sys
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shown_in_cell(content: Any, **how: Any) -> Any:
    """Show something in the cell that runs; what is returned replaces it (`update`). None: this is no notebook.

    Args:
        content: of the output.
        **how: see `IPython.display.display`.
    """
    if _shell() is None:
        return None
    return importlib.import_module("IPython.display").display(content, display_id=True, **how)


def figures_as_pictures() -> None:
    """From now on a figure in a cell's output is a picture, also in a notebook that has not used pyplot.

    IPython shows figures as a line of text until pyplot has made one. What the user has chosen, as SVG, stays.
    """
    shell = _shell()
    if shell is None:
        return
    from matplotlib.figure import Figure

    forms = shell.display_formatter.formatters
    if not any(Figure in forms[form] for form in ("image/png", "image/svg+xml", "image/jpeg", "application/pdf")):
        forms["image/png"].for_type(Figure, _png)


def _shell() -> Any:
    """IPython's shell of this notebook; None: this is no notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell if hasattr(shell, "kernel") else None


def _png(figure: Figure) -> bytes:
    content = BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()
