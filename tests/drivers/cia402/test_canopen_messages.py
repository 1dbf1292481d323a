"""CANopen messages as the standard has them, and the state machine of a drive, state by state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.cia402 import protocol
from drivers.cia402.protocol import Entry, Pdo, SdoAbortError
from drivers.cia402.state_machine import Cia402State, state_of, to_enable
from drivers.interfaces import BadFrameError

# Statuswords of the table of CiA 402, the bits that show no state set and not set.
STATUSWORDS = {
    Cia402State.NOT_READY: (0x0000, 0xFFB0 & ~0x40),
    Cia402State.SWITCH_ON_DISABLED: (0x0040, 0xFFF0),
    Cia402State.READY: (0x0021, 0xFFB1),
    Cia402State.SWITCHED_ON: (0x0023, 0xFFB3),
    Cia402State.ENABLED: (0x0027, 0xFFB7),
    Cia402State.QUICK_STOP: (0x0007, 0xFF97),
    Cia402State.FAULT_REACTION: (0x000F, 0xFFBF),
    Cia402State.FAULT: (0x0008, 0xFFB8),
}


# All of them, bit 5 counted where a state leaves it open.
PROVEN = {word | open_ for word in (0x00, 0x40, 0x0F, 0x08) for open_ in (0, 0x20)} | {0x21, 0x23, 0x27, 0x07}


@pytest.mark.parametrize(("state", "words"), STATUSWORDS.items(), ids=lambda one: getattr(one, "name", ""))
def test_a_state_is_shown_by_its_bits_whatever_the_others_are(state, words):
    assert [state_of(word) for word in words] == [state] * 2
    assert state_of(state.statusword) is state


def test_a_statusword_of_no_state_is_no_proof_that_the_power_stage_is_off():
    shown = {state_of(word) for word in range(0x80) if not any(word & 0x6F == one & 0x6F for one in PROVEN)}
    assert shown == {Cia402State.UNKNOWN}
    assert not Cia402State.UNKNOWN.off
    assert to_enable(Cia402State.UNKNOWN) == 0


def test_a_drive_is_enabled_step_by_step_and_a_fault_is_never_reset_on_this_path():
    path = [Cia402State.SWITCH_ON_DISABLED, Cia402State.READY, Cia402State.SWITCHED_ON, Cia402State.ENABLED]
    assert [to_enable(state) for state in path] == [0x06, 0x07, 0x0F, 0x0F]
    assert {to_enable(state) for state in Cia402State if state not in path} == {0}


@pytest.mark.parametrize(
    ("entry", "value", "request_"),
    [
        (protocol.MODE, 3, "2f60600003000000"),
        (protocol.ABORT_OPTION, 2, "2b07600002000000"),
        (protocol.CONSUMER_HEARTBEAT, 0x7F0064, "2316100164007f00"),
        (protocol.TARGET_VELOCITY, -2, "23ff6000feffffff"),
    ],
)
def test_a_number_is_written_in_one_frame(entry, value, request_):
    assert protocol.write_request(entry, value).hex() == request_
    protocol.check_written(b"\x60" + entry.address + bytes(4))


def test_numbers_and_texts_are_read_and_refusals_have_their_words():
    assert protocol.read_request(protocol.STATUSWORD).hex() == "4041600000000000"
    assert protocol.read_value(bytes.fromhex("4b41600037060000")) == b"\x37\x06"
    assert protocol.read_value(bytes.fromhex("4108100010000000")) is None  # 16 bytes follow
    assert protocol.read_segment(bytes.fromhex("0054696e79204e6f")) == (b"Tiny No", False)
    assert protocol.read_segment(bytes.fromhex("1b64650000000000")) == (b"de", True)
    with pytest.raises(SdoAbortError, match=r"no such object \(0x06020000\)"):
        protocol.read_value(bytes.fromhex("8007600000000206"))


@pytest.mark.parametrize("answer", [b"", bytes(7), bytes.fromhex("6041600000000000"), bytes(9)])
def test_what_is_no_answer_is_damage(answer):
    with pytest.raises(BadFrameError):
        protocol.read_value(answer)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 0xFFFF))
def test_process_data_are_read_as_they_are_written(velocity, word):
    pdo = Pdo(0x1800, 0x181, 1, (protocol.STATUSWORD, protocol.VELOCITY))
    assert pdo.unpack(pdo.pack(word, velocity).data) == (word, velocity)
    assert pdo.name == "TPDO1"
    assert Pdo(0x1403, 0x200, 255, ()).name == "RPDO4"


def test_a_mapping_is_written_while_its_process_data_are_off():
    pdo = Pdo(0x1403, 0x200, 255, (protocol.CONTROLWORD,))
    each = [(entry.index, entry.sub, value) for entry, value in pdo.settings()]
    assert each == [
        (0x1403, 1, 0x80000200), (0x1403, 2, 255), (0x1603, 0, 0), (0x1603, 1, 0x60400010), (0x1603, 0, 1),
        (0x1403, 1, 0x200),
    ]  # fmt: skip


def test_an_entry_of_another_length_is_damage():
    with pytest.raises(BadFrameError, match=r"statusword \(0x6041:00\) has 1 bytes, expected: 2"):
        Entry(0x6041, 0, 2, "statusword").unpack(b"\1")
