"""The output of a notebook's cell, if this program runs in a notebook."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def shown_in_cell(content: Any, **how: Any) -> Any:
    """Show something in the cell that runs; what is returned replaces it (`update`). None: this is no notebook.

    Args:
        content: of the output.
        **how: see `IPython.display.display`.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display").display(content, display_id=True, **how)
