"""Blocks of Python in the README and the docs compile, and everything they import is there."""

from __future__ import annotations

import ast
import importlib
import re

import pytest

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OF_A_READER = {"my_lab", "acme"}  # packages that a page tells the reader to write


def missing(code):
    """Names that a piece of code imports and that are not there."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            wanted = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            wanted = [(str(node.module), alias.name) for alias in node.names]
        else:
            continue
        found += [f"{module}.{name}" for module, name in wanted if not there(module, name)]
    return found


def there(module, name):
    """Whether a module can be imported and has a name, its own or a module's."""
    if module.partition(".")[0] in OF_A_READER:
        return True
    try:
        if not name or hasattr(importlib.import_module(module), name):
            importlib.import_module(module)
            return True
        importlib.import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


def test_every_block_of_python_compiles_and_imports_what_is_there(pages):
    blocks = [(page, code) for page, text in pages.items() for code in BLOCK.findall(text)]
    assert len(blocks) >= 8
    wrong = [f"{page}: {name}" for page, code in blocks for name in missing(code)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "code", ["from hil.config import load_konfig", "import models.wheels", "from models import ro"]
)
def test_an_import_of_what_is_not_there_is_noticed(code):
    assert missing(code)
