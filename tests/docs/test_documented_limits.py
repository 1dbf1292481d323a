"""Sizes, rates and times that pages name in words are those of the program."""

from __future__ import annotations

import pytest

from hil.app.console import LOOK_S, STATUS_EVERY_NS
from hil.app.page.record import MOST_TICKS
from hil.config import files, text_io
from hil.ipc.shared_types import MOST_STATUS_BYTES
from hil.operator.command_messages import MOST_NAME_BYTES, MOST_NAME_LETTERS
from hil.operator.page.app import MOST_VIEWERS
from hil.operator.page.operated_rig import RATE_HZ
from hil.operator.page.viewer import EVERY_S, IDLE_S, LONGEST_NAME, STATUS_S
from hil.realtime.clock import KEPT
from hil.recording import child_reader
from hil.recording.run_folder import MOST_SUMMARY_BYTES

FILES, PAGE = "docs/explanation/files-from-elsewhere.md", "docs/reference/page.md"
COMMANDS = "docs/reference/commands.md"


@pytest.mark.parametrize(
    ("page", "words", "found", "stated"),
    [
        (FILES, "262,144 bytes, 10,000 values, 20 levels",
         (text_io.MOST_BYTES, text_io.MOST_VALUES, text_io.DEEPEST), (262_144, 10_000, 20)),
        (FILES, "1 MiB, 32 levels, no NaN", (MOST_SUMMARY_BYTES, files.DEEPEST), (2**20, 32)),
        (FILES, "It has 1 s of processor time and 256 MiB of memory, and 0.1 s and 8 MB more for each MB: of",
         (child_reader._WORK_S, child_reader._MEMORY, 1e6 * child_reader._WORK_A_BYTE_S, child_reader._MEMORY_A_BYTE),
         (1, 2**28, pytest.approx(0.1), 8)),
        (FILES, "at most 1,000 objects, 8 levels and 64 attributes each",
         (child_reader.MOST_OBJECTS, child_reader.DEEPEST, child_reader.MOST_ATTRIBUTES), (1000, 8, 64)),
        (PAGE, "5 times a second: all of the [status]", 1.0 / STATUS_S, 5.0),
        (PAGE, "10 times a second in a run: ticks at up to 30 Hz", (1.0 / EVERY_S, RATE_HZ), (10.0, 30)),
        (PAGE, "at most 3000 ticks", MOST_TICKS, 3000),
        (PAGE, "There are at most 16 viewers", MOST_VIEWERS, 16),
        (PAGE, "after an hour in which nobody did anything", IDLE_S, 3600.0),
        (PAGE, "of the operator: 20 letters", LONGEST_NAME, 20),
        ("docs/reference/commands.md", "spaces inside and `. _ @ -`, at most 48 bytes",
         (MOST_NAME_LETTERS, MOST_NAME_BYTES), (30, 48)),
        (COMMANDS, "written every 0.05 s while a loop runs and every 0.02 s between two runs",
         (STATUS_EVERY_NS, LOOK_S), (50_000_000, 0.02)),
        (COMMANDS, "It has at most 8192 bytes.", MOST_STATUS_BYTES, 8192),
        ("docs/reference/faults.md", "The 60\nlongest of a run are kept", KEPT, 60),
    ],
)  # fmt: skip
def test_a_number_of_a_page_is_that_of_the_program(pages, page, words, found, stated):
    assert words in pages[page]
    assert found == stated
