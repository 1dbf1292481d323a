"""What a device reports about itself: every bit of every table, through the driver, from a simulated device."""

import pytest

from drivers.registry import BUILT_IN
from drivers.reported import Reaction, StatusRow, StatusTable

TABLES = {status.name: status for kind in BUILT_IN for status in kind.statuses}


@pytest.mark.parametrize("status", TABLES.values(), ids=TABLES)
def test_every_row_of_a_table_has_words_a_reason_and_a_value_of_its_own(status):
    assert all(row.words and row.reason for row in status.rows)
    values = [row.value for row in status.rows]
    assert len(set(values)) == len(values)
    assert status.codes or all(value.bit_count() == 1 for value in values)


def test_a_bit_that_is_in_no_table_leads_to_safe():
    table = StatusTable("drive", "status", (StatusRow(1, "warm", Reaction.MARK, "it goes on"),))
    assert [(one.safe, one.words) for one in table.reports(0b101, "port")] == [
        (False, "warm (status 0x1), port"),
        (True, "unknown (status 0x4), port"),
    ]


def test_a_code_is_looked_up_whole():
    rows = StatusRow(3, "hot", Reaction.SAFE, "it is off"), StatusRow(4, "late", Reaction.IGNORED, "it is rare")
    table = StatusTable("sensor", "error", rows, codes=True)
    assert [one.words for one in table.reports(3, "port")] == ["hot (error 3), port"]
    assert table.reports(4, "port") == table.reports(0, "port") == ()
    assert table.reports(7, "port")[0].safe
