"""A campaign read back from its folder: campaign.csv, a row a trial, and campaign.json."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.recording.run_folder import FolderError

CSV, JSON = "campaign.csv", "campaign.json"
# Columns that stay text, whatever an operator has typed there.
TEXT = frozenset({"status", "folder", "ground", "variant", "wheels", "reasons", "content"}) | {
    f"operator_{what}" for what in ("name", "verdict", "word")
}
NEEDED = {"number", "status", "folder", "angle_deg", "content"}
_WORDS = {"": None, "true": True, "false": False}


@dataclass(frozen=True)
class Campaign:
    """A campaign.

    Attributes:
        name: of the campaign.
        rows: one a trial run, in the order of the plan: values by the columns of campaign.csv, None where empty.
        meta: what campaign.json holds besides the trials: plan, config, digests, version and so on.
        folder: where it is.
    """

    name: str
    rows: list[dict[str, Any]]
    meta: dict[str, Any]
    folder: Path


def is_campaign(folder: Path) -> bool:
    """Whether a folder is that of a campaign, and not of a single run."""
    try:
        return (folder / JSON).is_file()
    except (OSError, ValueError):  # what is no path at all
        return False


def read_campaign(folder: Path) -> Campaign:
    """Read a campaign.

    Raises:
        FolderError: the folder does not hold one, or its files cannot be read.
    """
    try:
        meta = json.loads((folder / JSON).read_text(encoding="utf-8"))
        rows = list(_rows(folder / CSV))
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise FolderError(f"{folder} is no campaign that can be read: {error}") from None
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        raise FolderError(f"{folder / JSON} cannot be read: it does not hold the name of a campaign")
    meta.pop("trials", None)
    return Campaign(meta["name"], rows, meta, folder)


def _rows(place: Path) -> Iterator[dict[str, Any]]:
    with place.open(newline="", encoding="utf-8") as file:
        table = csv.DictReader(file, strict=True)
        if missing := NEEDED - set(table.fieldnames or ()):
            raise ValueError(f"{place.name} has no column {', '.join(sorted(missing))}")
        for number, row in enumerate(table, start=1):
            if None in row or None in row.values():
                raise ValueError(f"{place.name}: row {number} has more or fewer cells than the heading")
            values = {key: text if key in TEXT else _value(text) for key, text in row.items()}
            if isinstance(values["angle_deg"], str):
                raise ValueError(f"{place.name}: row {number} has the angle {values['angle_deg']!r}")
            yield values


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return _WORDS.get(text.lower(), text)
