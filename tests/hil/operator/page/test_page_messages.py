"""Sizes of what a browser may send (hil.operator.page.messages): the largest passes, one more is no message."""

from __future__ import annotations

import json

import pytest

from hil.operator.page.messages import MOST_BYTES, MOST_SERIES, Subscribe, read_message


def test_a_message_may_have_8192_characters_and_no_more():
    assert MOST_BYTES == 8192
    text = json.dumps({"type": "subscribe", "series": []})
    assert read_message(text.ljust(MOST_BYTES)) == Subscribe(())
    with pytest.raises(ValueError, match="a message of 8193 characters, allowed: 8192"):
        read_message(text.ljust(MOST_BYTES + 1))


@pytest.mark.parametrize(("series", "length"), [(192, 1), (1, 100)])
def test_a_viewer_subscribes_to_192_series_with_names_of_100_characters_and_no_more(series, length):
    assert MOST_SERIES == 192

    def subscribe(number, letters):
        return read_message(json.dumps({"type": "subscribe", "series": ["a" * letters] * number}))

    assert subscribe(series, length) == Subscribe(("a" * length,) * series)
    for number, letters in ((193, 1), (1, 101)):
        with pytest.raises(ValueError, match="no message"):
            subscribe(number, letters)
