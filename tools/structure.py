"""Measures of the structure, held by tools/structure.json: a number may only fall; run by `make lint`.

python tools/structure.py            compares the tree with tools/structure.json; ends with 1 if a number rose, or if a
                                     name in a page or docstring leads nowhere
python tools/structure.py --lower    writes the numbers that fell into tools/structure.json

A number that has to rise is changed in tools/structure.json by hand, in the change that needs it, with the reason under
"raised".
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = Path("tools/structure.json")
PACKAGES = ("hil", "drivers", "models")
ROLES = {"drives", "valves", "servos", "motion", "imu", "joints"}
MANY_ROLES = 4
GENERATED = Path("docs/reference")
ENTRY_WORDS = 40
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = ast.Module | ast.ClassDef | FUNCTIONS
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
FOLDERS = "hil|drivers|models|references|tests|tools|docs|rig_configs|benchmarks|examples"
NAMED_PATH = re.compile(rf"(?<![\w./(-])(?:{FOLDERS})/[\w./-]*\w\.(?:py|md|yaml|toml|json|csv)\b")
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")  # of a maker or a file that the reader has to name
NAMED_OBJECT = re.compile(r"`((?:hil|drivers|models)(?:\.\w+)+)(?:\(\))?`")
# Words for which plain English has a usual one: repair, depend on, terminate, next to, separate, distance.
NOT_PLAIN = re.compile(
    r"\b(mend(?:s|ed|ing)?|hangs? on|polite kill|what (?:came|comes) of|beside|of its own"
    r"|(?:the|a|its|their|whole|wanted|planned|slipped) way (?:of|over|to the|along|from|by))\b"
)
# A sentence has a verb as far as these tell: auxiliaries, endings, and the imperatives of the pages.
VERB = re.compile(
    r"\b(is|are|was|were|be|has|have|had|do|does|did|can|cannot|may|must|will|would|could|should|let|need|take|go|see|set"
    r"|put|make|use|give|keep|read|write|run|wait|stand|lie|hold|turn|move|follow|look|know|say|find|get|come|test|try"
    r"|copy|call|send|measure|name|connect|add|choose|press|open|start|stop|fill|\w+(?:s|ed|en|fy|ize|ise))\b",
    re.IGNORECASE,
)
PROSE = re.compile(r"^(?=[A-Z*])(?!.*\|).*$", re.MULTILINE)
NO_PROSE = re.compile(r"^ *```.*?^ *```$|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)|\[", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class SourceFile:
    """A tracked Python file: its path below the root, and its text."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its syntax tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def words(self) -> set[str]:
        """Its identifiers and words, docstrings and comments included."""
        return set(re.findall(r"\w+", self.text))

    @property
    def module(self) -> str:
        """Its dotted name."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def public_classes(self) -> list[str]:
        """Names of the classes of its top level without an underscore."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]

    @property
    def imported(self) -> set[str]:
        """Dotted names that it imports: modules, and names in modules."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        return found

    def code_lines(self) -> int:
        """Lines that hold code: neither blank, comment, docstring nor import."""
        left_out: set[int] = set()
        for node in self.nodes:
            if isinstance(node, DEFINITIONS) and ast.get_docstring(node, clean=False) is not None:
                left_out.update(_lines(node.body[0]))
            if isinstance(node, ast.Import | ast.ImportFrom):
                left_out.update(_lines(node))
        with_code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in NO_CODE:
                with_code.update(range(token.start[0], token.end[0] + 1))
        return len(with_code - left_out)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def tracked(root: Path, *patterns: str) -> list[Path]:
    """Tracked files that match patterns of git, relative to the root."""
    command = ["git", "ls-files", "-z", *patterns]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return [Path(name) for name in names if name and (root / name).is_file()]


def sources(root: Path, *packages: str) -> list[SourceFile]:
    """Tracked Python files of packages."""
    paths = tracked(root, *(f"{package}/*.py" for package in packages))
    return [SourceFile(path, (root / path).read_text(encoding="utf-8")) for path in paths]


def measure(root: Path) -> dict[str, int]:
    """All measures of the tree, by name."""
    tests = sources(root, "tests")
    ours = {package: sources(root, package) for package in PACKAGES}
    product = [source for package in PACKAGES for source in ours[package]]
    found = {}
    for package, files in ours.items():
        found[f"lines of {package}"] = sum(source.text.count("\n") for source in files)
        found[f"code lines of {package}"] = sum(source.code_lines() for source in files)
        found[f"files of {package}"] = len(files)
    classes = Counter(name for source in product for name in source.public_classes)
    named = Counter(word for source in [*product, *tests] for word in source.words)
    functions = [node for source in product for node in source.nodes if isinstance(node, FUNCTIONS)]
    found["functions that take the whole Config"] = sum(takes_config(node) for node in functions)
    found["class names of more than one class"] = sum(count > 1 for count in classes.values())
    found["public classes that no other file names"] = sum(named[name] == 1 for name in classes)
    found["files that name four or more device roles"] = sum(names_many_roles(source) for source in product)
    found["files that only a neighbour imports"] = sum(lonely(product))
    found["docstrings that only point at another"] = sum(
        (ast.get_docstring(node) or "").startswith("See ") for node in functions
    )
    found["modules with a main of their own"] = sum(
        isinstance(node, ast.FunctionDef) and node.name == "main" for source in product for node in source.tree.body
    )
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project.get("tool", {}).get("importlinter", {}).get("contracts", [])
    found["imports that a contract ignores"] = sum(len(contract.get("ignore_imports", ())) for contract in contracts)
    pages = tracked(root, "docs/*.md")
    written = [page for page in pages if GENERATED not in page.parents]
    found["words of docs without the reference"] = _words(root, written)
    found["words of docs"] = _words(root, pages)
    found["words of CHANGELOG"] = _words(root, [Path("CHANGELOG.md")])
    found["words of README"] = _words(root, [Path("README.md")])
    found["words of pages that are not plain"] = sum(len(NOT_PLAIN.findall(text)) for text in _texts(root, pages))
    found["words of code and its docstrings that are not plain"] = sum(
        len(NOT_PLAIN.findall(one.text)) for one in product
    )
    found["sentences of pages without a verb"] = sum(len(verbless(text)) for text in _texts(root, written))
    found["long entries of CHANGELOG"] = sum(
        len(entry.split()) > ENTRY_WORDS
        for entry in re.split(r"^- ", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    )
    return found


def takes_config(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Returns whether an argument of a function is the whole Config."""
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        annotation: ast.AST | None = argument.annotation
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval")
        names = ast.walk(annotation) if annotation is not None else ()
        if any("Config" in (getattr(name, "id", ""), getattr(name, "attr", "")) for name in names):
            return True
    return False


def names_many_roles(source: SourceFile) -> bool:
    """Returns whether the code of a file names four or more of the roles that a device can have."""
    said = set(re.findall(r"[a-z]+", re.sub(r'""".*?"""', "", source.text, flags=re.DOTALL)))
    return source.path.parts[0] != "models" and len(said & ROLES) >= MANY_ROLES


def lonely(files: list[SourceFile]) -> Iterator[bool]:
    """For each file, whether exactly one other file imports it, from the same folder."""
    importers: dict[str, list[Path]] = {source.module: [] for source in files}
    for source in files:
        for name in source.imported:
            if name in importers and name != source.module:
                importers[name].append(source.path)
    for source in files:
        by = importers[source.module]
        yield len(by) == 1 and by[0].parent == source.path.parent


def verbless(page: str) -> list[str]:
    """Sentences of the paragraphs of a page that have no verb, as far as a list of words and endings tells."""
    paragraphs = re.split(r"\n\s*\n", NO_PROSE.sub("", page))
    prose = (" ".join(one.split()) for one in paragraphs if PROSE.match(one) and not one.startswith("#"))
    sentences = (sentence for one in prose for sentence in re.split(r"(?<=[.!?]) +(?=[A-Z])", one))
    return [one for one in sentences if one.endswith(".") and len(one.split()) > 1 and not VERB.search(one)]


def _texts(root: Path, pages: list[Path]) -> list[str]:
    return [(root / page).read_text(encoding="utf-8") for page in pages]


def _words(root: Path, pages: list[Path]) -> int:
    return sum(len(text.split()) for text in _texts(root, pages))


def lost_names(root: Path) -> list[str]:
    """Paths and dotted names in pages, docstrings and comments that lead nowhere."""
    modules = {source.module: source for source in sources(root, *PACKAGES)}
    folders = {".".join(parent.parts) for source in modules.values() for parent in source.path.parents}
    problems = []
    for file in tracked(root, "*.md", "hil/*.py", "drivers/*.py", "models/*.py", "tools/*.py"):
        text = (root / file).read_text(encoding="utf-8")
        if file.name == "CHANGELOG.md" or "decisions" in file.parts:  # what they name was there at that time
            continue
        problems += [
            f"{file}: names {name}, which is not there: correct the path"
            for name in sorted(set(NAMED_PATH.findall(text)))
            if not PLACEHOLDER.search(name) and not (root / name).is_file()
        ]
        problems += [
            f"{file}: names {name}, which is not there: correct the name"
            for name in sorted(set(NAMED_OBJECT.findall(text)))
            if not PLACEHOLDER.search(name) and not leads_to(name, modules, folders)
        ]
    return problems


def leads_to(name: str, modules: dict[str, SourceFile], folders: set[str]) -> bool:
    """Whether a dotted name is a module, a package, or a name in the text of the module that its beginning names.

    A method is looked for in the whole package, since the package's face may only hand its class on.
    """
    if name in modules or name in folders:
        return True
    module, rest = name, list[str]()
    while module and module not in modules:
        module, _, last = module.rpartition(".")
        rest.insert(0, last)
    if not module or (rest[0] not in modules[module].words and not rest[0].startswith("__")):
        return False
    inside = (source for key, source in modules.items() if f"{key}.".startswith(f"{module}."))
    return len(rest) == 1 or any(rest[-1] in source.words for source in inside)


def risen(measured: dict[str, int], limits: dict[str, int]) -> list[str]:
    """Sentences on each number over its limit, on each measure without one, and on each limit that measures nothing."""
    problems = [
        f"{LIMITS}: {name}: {value}, allowed are {limits[name]}: bring it down, or raise it there with its reason"
        for name, value in measured.items()
        if name in limits and value > limits[name]
    ]
    problems += [f"{LIMITS}: has no number for: {name}" for name in measured.keys() - limits.keys()]
    return problems + [f"{LIMITS}: nothing measures: {name}" for name in limits.keys() - measured.keys()]


def main() -> int:
    """Compare the tree with the numbers in tools/structure.json; 1 if one rose or a name leads nowhere."""
    held = json.loads((ROOT / LIMITS).read_text(encoding="utf-8"))
    limits, measured = held["at_most"], measure(ROOT)
    if "--lower" in sys.argv:
        held["at_most"] = {name: min(value, limits.get(name, value)) for name, value in measured.items()}
        (ROOT / LIMITS).write_text(json.dumps(held, indent=2) + "\n", encoding="utf-8")
        limits = held["at_most"]
    problems = [*risen(measured, limits), *lost_names(ROOT)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        fallen = sum(value < limits[name] for name, value in measured.items())
        print(f"structure: {len(measured)} numbers, none rose, {fallen} fell (--lower writes them)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
