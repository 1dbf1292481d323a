"""The programs of examples/ as pages of the site: what they say of themselves, what they draw, and their code."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from check_tree import ROOT

# Programs that draw, and what they draw; the record that one of them reads is made first.
DRAWN = {
    "energy_over_angle": "energy_over_angle.png",
    "read_a_record": "forces.png",
    "wheel_curves": "wheel_curves.png",
}
RECORD = "runs/example"
# Pictures of the docs that show what a program does that draws nothing itself.
OF_THE_DOCS = {
    "operate_a_rig": ("page_run_up.png", "The same rig on its page, during the run"),
    "run_a_trial": ("trial.png", "The figure that `hil trial` draws of this run"),
}
PAGE = re.compile(r"\bdocs/([\w./-]+\.md)\b")


def draw(folder: Path) -> None:
    """Run the programs that draw, each in its own folder, and leave `EXAMPLE.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in DRAWN.items():
        with tempfile.TemporaryDirectory() as place:
            arguments = []
            if name == "read_a_record":
                _run(place, "-m", "hil.cli", "trial", "sim_impact", "--out", RECORD)
                arguments = [RECORD]
            _run(place, str(ROOT / "examples" / f"{name}.py"), *arguments)
            shutil.copyfile(Path(place) / picture, folder / f"{name}.png")


def _run(place: str, *arguments: str) -> None:
    """Run Python in a folder; what it prints is shown only if it fails."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=place, text=True, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")


def gallery_page(program: Path, pictures: Path) -> str:
    """The page of a program, in Markdown; its links are relative to `docs/gallery`."""
    code = program.read_text(encoding="utf-8")
    title, words, printed = _docstring(code)
    parts = [f"# {title}", words]
    if printed:
        parts.append(f"It prints:\n\n```text\n{printed}\n```")
    if (picture := _picture(program.stem, pictures)) is not None:
        parts.append(f"![{picture[1]}]({picture[0]})")
    parts.append(f"## `examples/{program.name}`\n\n```python\n{code.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def gallery_index(pictures: Path) -> str:
    """The first page of the gallery: a picture and a line of each program."""
    cards, names = [], []
    for program in sorted((ROOT / "examples").glob("*.py")):
        title, _, printed = _docstring(program.read_text(encoding="utf-8"))
        picture = _picture(program.stem, pictures)
        shown = f"![{picture[1]}]({picture[0]})" if picture else f"```text\n{printed}\n```" if printed else ""
        name = program.stem.replace("_", " ").capitalize()
        names.append(f"{name} <{program.stem}>\n")
        cards.append(f"::::{{container}}\n**[{name}]({program.stem}.md)**\n\n{title}\n\n{shown}\n::::\n")
    return (
        "# Examples\n\nShort programs. Each page says how to run one, and what it prints; a test runs each of them.\n\n"
        f":::::{{container}} gallery\n{''.join(cards)}:::::\n\n```{{toctree}}\n:hidden:\n\n{''.join(names)}```\n"
    )


def _picture(name: str, pictures: Path) -> tuple[str, str] | None:
    """The picture of a program, relative to `docs/gallery`, and what it shows; None: it has none."""
    if (pictures / f"{name}.png").is_file():
        return f"pictures/{name}.png", f"What {name}.py draws"
    if name in OF_THE_DOCS:
        file, words = OF_THE_DOCS[name]
        return f"../images/{file}", words
    return None


def _docstring(code: str) -> tuple[str, str, str]:
    """Title, words and printed lines of a program, by its docstring; pages that it names are linked."""
    text = ast.get_docstring(ast.parse(code)) or ""
    title, _, words = text.partition("\n\n")
    words, _, rest = words.partition("prints:\n\n")
    block = re.match(r"(?: {4}.*\n?|\n(?= {4}))+", rest)
    printed = "\n".join(line[4:] for line in block[0].splitlines()) if block else ""
    after = rest[block.end() :].strip() if block else ""
    words = re.sub(r"\s*(?:\bIt|, and|Of that run it)\s*$", "", words)
    words = words.strip() + ("." if words.strip() and words.strip()[-1] not in ".`:" else "")
    linked = PAGE.sub(r"[\1](../\1)", f"{words}\n\n{after}".strip())
    return " ".join(title.split()), linked, printed
