"""Builds the site from docs/, examples/ and the code, and looks at every link of it.

Run: python tools/build_site.py [--out build/site]    (`make site` does; `make docs` writes the generated tables first)

Warnings are errors. Nothing is fetched, while it is built and when it is read.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import check_site
from check_tree import ROOT
from site_gallery import draw
from site_pages import stage
from site_versions import write_alone
from sphinx.cmd.build import main as sphinx_build

import hil


def build(out: Path) -> int:
    """Build the site into a folder, which is emptied first; 0 if nothing is wrong with it."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        pictures, pages = Path(place) / "pictures", Path(place) / "pages"
        _set_kernels_up(Path(place) / "ipython")
        draw(pictures)
        stage(pages, pictures)
        options = ["--quiet", "--fail-on-warning", "--fresh-env", "--conf-dir", str(ROOT / "docs")]
        status = sphinx_build([*options, "--doctree-dir", f"{place}/doctrees", str(pages), str(out)])
    if status:
        return status
    for left in (".buildinfo", "objects.inv", "_static/webpack-macros.html"):  # of builds and other projects
        (out / left).unlink(missing_ok=True)
    write_alone(out, hil.__version__)
    return check_site.main([str(out)])


def _set_kernels_up(folder: Path) -> None:
    """Kernels of the notebooks take no settings from the user's home, and say errors only."""
    (folder / "profile_default").mkdir(parents=True)
    (folder / "profile_default" / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 40\n")
    os.environ["IPYTHONDIR"] = str(folder)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the debugger in each kernel warns of frozen modules


def main(arguments: list[str] | None = None) -> int:
    """Build and look."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    return build(parser.parse_args(arguments).out.resolve())


if __name__ == "__main__":
    sys.exit(main())
