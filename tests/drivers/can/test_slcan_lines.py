"""Lines of an SLCAN adapter follow its manual, and frames take as long on the bus as the theory says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.can import slcan
from drivers.can.slcan import AdapterStatus, CanFrame, LineReader
from drivers.interfaces import BadFrameError

FRAMES = st.builds(CanFrame, st.integers(0, 0x7FF), st.binary(max_size=8))


def test_frames_of_the_manual_are_read_and_written():
    assert CanFrame(0x100, bytes.fromhex("11")).line == b"t100111\r"
    assert CanFrame(0x7DF, bytes(range(8))).line == b"t7DF80001020304050607\r"
    assert slcan.decode(b"t10021133") == CanFrame(0x100, b"\x11\x33")
    assert slcan.decode(b"F28") == AdapterStatus(0x28)


@given(FRAMES)
def test_a_frame_is_read_as_it_is_written(frame):
    assert slcan.decode(frame.line[:-1]) == frame
    assert slcan.line_bytes(len(frame.data)) == len(frame.line)


@given(st.lists(FRAMES, max_size=6), st.integers(1, 30))
def test_lines_are_found_however_they_are_cut_into_pieces(frames, size):
    whole, reader = b"".join(frame.line for frame in frames) + b"\a", LineReader()
    lines = [line for start in range(0, len(whole), size) for line in reader.feed(whole[start : start + size])]
    assert lines == [*(frame.line[:-1] for frame in frames), slcan.BELL]


@pytest.mark.parametrize("text", [b"", b"z", b"Z", b"r1230", b"R18DAF1108", b"T18DAF1102AABB", b"T18DAF1100"])
def test_confirmations_and_frames_of_other_kinds_are_none_of_ours(text):
    assert slcan.decode(text) is None


@pytest.mark.parametrize(
    "text",
    [b"t", b"t8001FF", b"t1009" + b"00" * 9, b"t10021", b"t1002112", b"t100211 3", b"F2", b"x", b"\a\a", b"d1000"],
)
def test_what_is_no_line_is_damage(text):
    with pytest.raises(BadFrameError):
        slcan.decode(text)


def test_bytes_without_an_end_are_damage_before_they_are_many():
    reader = LineReader()
    lines = [line for _ in range(100) for line in reader.feed(b"\x55")]
    assert len(lines) == 3
    with pytest.raises(BadFrameError):
        slcan.decode(lines[0])


def stuffed(bits):
    """The bits of a sender, which inserts the opposite of five equal ones behind them."""
    sent = []
    for bit in bits:
        sent.append(bit)
        if len(sent) >= 5 and len(set(sent[-5:])) == 1:
            sent.append(1 - bit)
    return sent


@pytest.mark.parametrize("count", range(9))
def test_the_longest_frame_is_that_of_the_worst_pattern_stuffed_bit_by_bit(count):
    length = 34 + 8 * count  # start, identifier, control, data, check sum
    worst = [int(place and (place - 1) // 4 % 2 == 1) for place in range(length)]  # 00000 1111 0000 1111 ...
    assert slcan.bus_bits(count) == len(stuffed(worst)) + 1 + 2 + 7 + 3  # delimiters, acknowledgement, end and pause


@given(st.lists(st.integers(0, 1), min_size=98, max_size=98))
def test_no_other_pattern_is_longer(bits):
    assert len(stuffed(bits)) + 13 <= slcan.bus_bits(8)
