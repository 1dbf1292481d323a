import numpy as np
import pytest

from hil.ipc.shm import STALE, Mailbox
from hil.ipc.shm.mapped import PAYLOAD_AT
from hil.messages.layout import SENSORS, Layout
from hil.messages.signals import tick_dtype
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)

ODD = np.dtype([("number", "<i8"), ("text", "S3")])  # 11 bytes


@pytest.fixture
def mailbox(tmp_path):
    return Mailbox(tmp_path / "box", ODD, create=True)


def odd(number):
    out = np.zeros(1, ODD)
    out["number"], out["text"] = number, f"{number:03}"
    return out


def test_newest_value_reaches_every_reader(mailbox):
    readers = [Mailbox(mailbox.path, ODD, create=False) for _ in range(3)]
    for number in range(1, 20):
        assert mailbox.write(odd(number)) == number
        for reader in readers:
            out = np.zeros(1, ODD)
            assert reader.read(out) == number
            assert out == odd(number)


def test_the_version_tells_every_reader_whether_there_is_something_new(mailbox):
    reader, out = Mailbox(mailbox.path, ODD, create=False), np.zeros(1, ODD)
    assert reader.version == 0
    for number in range(1, 20):
        mailbox.write(odd(number))
        assert mailbox.version == reader.version == reader.read(out) == number


def test_nothing_written_yet_is_version_0_and_leaves_the_array_alone(mailbox):
    out = odd(7)
    assert mailbox.read(out) == 0
    assert out == odd(7)


def test_value_survives_the_next_write_until_that_is_complete(mailbox):
    """The slot being written is never the one being read: a writer suspended during a write blocks no reader."""
    mailbox.write(odd(1))
    begun = PAYLOAD_AT + 2 * 16
    mailbox._file._bytes[begun : begun + 16] = 0xFF  # the part of version 2 written so far
    out = np.zeros(1, ODD)
    assert mailbox.read(out) == 1
    assert out == odd(1)


def test_stale_leaves_the_array_alone(mailbox):
    """No real writer is fast enough, so every copy is made to fail."""
    mailbox.write(odd(1))
    out = odd(7)
    mailbox._call = mailbox._call._replace(snapshot=lambda box, out: STALE)
    assert mailbox.read(out) == STALE
    assert out == odd(7)


def test_changed_contents_of_the_same_array_are_written(mailbox):
    record, out = odd(1), np.zeros(1, ODD)
    mailbox.write(record)
    record["number"] = 9
    mailbox.write(record)
    mailbox.read(out)
    assert out["number"] == 9


def test_bytes_next_to_the_record_are_not_touched(mailbox):
    outs = np.concatenate([odd(7), odd(7), odd(7)])
    mailbox.write(odd(1))
    mailbox.read(outs[1:2])  # odd address, too
    assert outs.tolist() == np.concatenate([odd(7), odd(1), odd(7)]).tolist()


def test_record_of_the_trial_comes_back_as_it_was(tmp_path):
    box, row, out = Mailbox(tmp_path / "tick", TICK, create=True), np.zeros(1, TICK), np.zeros(1, TICK)
    row["tick"], row["force_N"], row["time_to_impact_s"] = 3, [1, 2, 3], np.inf
    box.write(row)
    box.read(out)
    assert out == row


def test_writer_started_anew_goes_on_counting(mailbox):
    mailbox.write(odd(1))
    assert Mailbox(mailbox.path, ODD, create=False).write(odd(2)) == 2


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.zeros(1, TICK), "tick"),
        (np.zeros(2, ODD), "found 2"),
        (np.zeros(4, ODD)[::4][:0], "found 0"),
        (np.zeros(1, ODD)[0], "found void"),
    ],
)
def test_wrong_array_is_refused_and_named(mailbox, array, says):
    for call in (mailbox.write, mailbox.read):
        with pytest.raises(TypeError, match=f"box.*{says}"):
            call(array)


def test_read_only_array_can_be_written_from_and_not_read_into(mailbox):
    array = odd(1)
    array.flags.writeable = False
    mailbox.write(array)
    with pytest.raises(TypeError, match="writable"):
        mailbox.read(array)
