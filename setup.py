"""What pyproject.toml cannot say of the build: README.md as an index of packages shows it, its links absolute."""

import re
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.egg_info import egg_info

ROOT = Path(__file__).resolve().parent
# Target of a link or an image that is no address and no heading of the page itself.
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


def absolute_links(text: str, repository: str, version: str) -> str:
    """Markdown with links into the tree as addresses: of the tag of a release, else of the newest commit."""
    place = f"v{version}" if re.fullmatch(r"[\d.]+", version) else "HEAD"

    def address(link: re.Match[str]) -> str:
        image, words, target = link.groups()
        return f"{image}[{words}]({repository}/{'raw' if image else 'blob'}/{place}/{target})"

    return LINK.sub(address, text)


def readme() -> str:
    """README.md as it is in the tree."""
    return (ROOT / "README.md").read_text(encoding="utf-8")


class ReadmeWithAddresses(egg_info):
    """Writes the metadata of wheel, sdist and editable install; only here is the version known."""

    def run(self) -> None:
        """Change the links, and go on."""
        urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
        metadata = self.distribution.metadata
        metadata.long_description = absolute_links(readme(), urls["Repository"], metadata.get_version())
        super().run()


if __name__ == "__main__":
    setup(
        cmdclass={"egg_info": ReadmeWithAddresses},
        long_description=readme(),
        long_description_content_type="text/markdown",
    )
