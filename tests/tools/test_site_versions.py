"""Versions of the site beside one another know each other, from files that stand in them."""

from __future__ import annotations

import json

import pytest


def versions(folder):
    text = (folder / "versions.js").read_text()
    return json.loads(text.partition(" = ")[2].rstrip(";\n"))["versions"]


def put(site_versions, folder, name, *pages):
    (folder / name).mkdir()
    for page in ("index.html", *pages):
        (folder / name / page).write_text("")
    site_versions.write_alone(folder / name, name)


def test_a_site_alone_knows_itself(site_versions, tmp_path):
    put(site_versions, tmp_path, "0.1.0")
    assert versions(tmp_path / "0.1.0") == [{"name": "0.1.0", "path": ".", "pages": []}]


def test_each_version_names_the_others_and_their_pages_newest_first(site_versions, tmp_path):
    for name in ("main", "0.9.0", "0.10.0", "0.10.0rc1"):
        put(site_versions, tmp_path, name, *["new.html"] * (name == "main"))
    assert site_versions.write_all(tmp_path) == ["0.10.0", "0.10.0rc1", "0.9.0", "main"]
    assert versions(tmp_path / "0.9.0") == [
        {"name": "0.10.0", "path": "../0.10.0", "pages": ["index.html"]},
        {"name": "0.10.0rc1", "path": "../0.10.0rc1", "pages": ["index.html"]},
        {"name": "0.9.0", "path": ".", "pages": []},
        {"name": "main", "path": "../main", "pages": ["index.html", "new.html"]},
    ]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()


def test_a_folder_without_a_version_is_refused(site_versions, tmp_path):
    with pytest.raises(FileNotFoundError, match="no version of the site"):
        site_versions.write_all(tmp_path)
