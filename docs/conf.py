"""Settings of the site; tools/build_site.py builds it (`make site`)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

import hil

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

project = "rover-hil"
author = "The rover-hil developers"
project_copyright = "the rover-hil developers, MIT licence"
version = release = hil.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
root_doc = "index"
exclude_patterns: list[str] = []

# ---- Markdown: anchors are those that the repository's pages use, so that a link works in both places ----
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# ---- notebooks are run by the build, in an empty folder; an error in a cell ends it ----
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 600  # for kernels that have to be compiled first
nb_merge_streams = True

# ---- the Python interface ----
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "code"
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

# ---- what it looks like ----
html_theme = "pydata_sphinx_theme"
html_title = "rover-hil"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["versions_menu.js", "wide_tables.js"]
html_search_scorer = str(HERE / "_static" / "search_order.js")
templates_path = ["_templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_domain_indices = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["versions.html", "theme-switcher"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "primary_sidebar_end": [],
    "show_toc_level": 2,
    "navigation_depth": 2,
    "collapse_navigation": True,
    "back_to_top_button": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars: dict[str, list[str]] = {"index": []}

# Docstrings are plain text with code in backticks: a bar means a bar to them, and a substitution to reStructuredText.
MARK_OUTSIDE_CODE = re.compile(r"(`+[^`]*`+)|([|*](?=\S))")
PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")


def _as_markup(_app: Sphinx, what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Escape what reStructuredText takes for marks, and link pages, before the sections of a docstring are read."""
    if what == "data":  # has none of its own: this is that of `dict`
        lines.clear()
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            escaped = MARK_OUTSIDE_CODE.sub(lambda found: found[1] or f"\\{found[2]}", line)
            lines[place] = PAGE.sub(r":doc:`\1 </\1>`", escaped)


def _without_keys(
    _app: Sphinx, _what: str, _name: str, shown: object, _options: object, signature: str, returned: str
) -> tuple[str, str]:
    """A class of config keys is made from a file, never by its forty arguments."""
    return ("" if isinstance(shown, type) and issubclass(shown, BaseModel) else signature), returned


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _as_markup, priority=100)
    app.connect("autodoc-process-signature", _without_keys)
