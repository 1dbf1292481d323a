"""Messages of the step service, and the contacts of a caller, without a rover."""

import math
import struct

import numpy as np
import pytest

from hil.simulator.stepping import layout
from hil.simulator.stepping.layout import BadMessage, Sizes
from hil.simulator.stepping.service import ContactDoor
from models.contact.compliant import make_compliant_ground
from models.contact.laws import gonthier_factor, make_law
from models.terrain.given_contacts import DAMPING, FRICTION, NORMAL, OFFSET, make_given_contacts, nearest_plane

NAN = math.nan
CENTRE = np.array([[0.0, 0.3, 0.098], [0.0, -0.3, 0.1]])
ZERO_SPEEDS = np.zeros((2, 3))
GOOD = (0, 0, (0.0, 0.3, -0.002), (0.0, 0.0, 1.0), 0.002, NAN, NAN)
FIRM = make_compliant_ground(make_law("kelvin_voigt", 1e6, damping=5000.0), 0.6)


def door(compliant=None):
    given = make_given_contacts(2)
    return given, ContactDoor(given, ("left", "right"), np.array([0.1, 0.1]), compliant)


def contacts(*rows):
    return np.array(list(rows), layout.CONTACT)


def changed(**fields):
    row = contacts(GOOD)
    for name, value in fields.items():
        row[name] = value
    return row


def test_a_message_is_read_as_it_was_written():
    assert layout.read(layout.write(layout.STEP, b"1234", 7)) == (layout.STEP, 7, b"1234")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (b"HIL", "3 bytes, allowed: 16 and more"),
        (b"GET / HTTP/1.1\r\n\r\n", "begins with b'GET ', allowed: b'HILS'"),
        (struct.pack("<4sHHII", b"HILS", 2, 1, 0, 0), "version 2, allowed: 1"),
        (struct.pack("<4sHHII", b"HILS", 1, 1, 9, 0), "says that 9 bytes follow its header, found 0"),
        (struct.pack("<4sHHII", b"HILS", 1, 99, 0, 0), "kind 99, allowed: 1 to 7"),
    ],
)
def test_a_frame_that_is_no_message_is_refused_with_what_is_allowed(frame, words):
    with pytest.raises(BadMessage, match=words):
        layout.read(frame)


@pytest.mark.parametrize("extra", [-8, 8])
def test_a_body_of_another_size_is_refused(extra):
    command = Sizes(9, 8, 2, 0, 0, 17, 0).command()
    message = layout.read(layout.write(layout.COMMAND, bytes(command.itemsize + extra)))
    with pytest.raises(BadMessage, match=f"command has {32 + extra} bytes after its header, allowed here: 32"):
        layout.body_of(message, command)


def test_contacts_that_are_fewer_than_their_count_are_refused():
    frame = bytearray(layout.write_contacts(contacts(GOOD), 0))
    frame[16] = 200
    with pytest.raises(BadMessage, match="contacts has 88 bytes after its header, allowed here: 16008"):
        layout.contacts_of(layout.read(bytes(frame)))


def test_every_number_of_a_message_has_its_place_and_its_unit():
    for dtype in (layout.CONTACT, Sizes(9, 8, 2, 1, 1, 17, 1).command(), Sizes(9, 8, 2, 1, 1, 17, 1).state()):
        end = 0
        for place in layout.places(dtype):
            assert (place["offset"], bool(place["unit"])) == (end, True)
            end += dtype.fields[place["name"]][0].itemsize
        assert end == dtype.itemsize


def test_a_contact_on_level_ground_fixes_that_plane_exactly():
    given, entry = door()
    z, radius = 0.0971234567890123, 0.1
    there = CENTRE + np.array([1.25, 0.0, 0.0])
    entry.take(changed(point=(1.25, 0.3, z - radius), penetration=radius - z), there, ZERO_SPEEDS)
    assert given.plane[0, 0, NORMAL : OFFSET + 1].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert nearest_plane(given, (1.25, 0.3, z), 0)[0] == z


def test_a_wheel_without_a_contact_is_far_from_all_ground():
    given, entry = door()
    entry.take(contacts(GOOD), CENTRE, ZERO_SPEEDS)
    entry.take(contacts(), CENTRE, ZERO_SPEEDS)
    assert nearest_plane(given, (0.0, 0.3, 0.1), 0)[0] > 1e8


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"wheel": 2}, "contact 0: wheel 2, allowed: 0 to 1"),
        ({"point": (0.0, NAN, 0.0)}, "wheel left: point, normal or penetration is not finite"),
        ({"penetration": math.inf}, "not finite"),
        ({"normal": (0.0, 0.0, 2.0)}, "normal has length 2, allowed: 1"),
        ({"normal": (0.0, 0.0, 0.5)}, "normal has length 0.5, allowed: 1"),
        ({"point": (5.0, 0.3, 0.0)}, "from the wheel's centre, allowed: 0.15"),
        ({"penetration": 0.2}, "penetration is 0.2 m, allowed: -0.1 to 0.1"),
        ({"friction": 0.5}, "allowed on soil: NaN"),
        ({"restitution": 0.5}, "allowed on soil: NaN"),
    ],
)
def test_a_contact_that_cannot_be_is_refused_with_what_is_allowed(fields, words):
    given, entry = door()
    entry.take(contacts(GOOD), CENTRE, ZERO_SPEEDS)
    before = given.plane.copy()
    with pytest.raises(BadMessage, match=words):
        entry.take(changed(**fields), CENTRE, ZERO_SPEEDS)
    assert (given.touching.tolist(), np.array_equal(given.plane, before, equal_nan=True)) == ([1, 0], True)


def test_on_soil_a_wheel_has_one_contact():
    _, entry = door()
    with pytest.raises(BadMessage, match="wheel left has more contacts than on soil allowed: 1"):
        entry.take(contacts(GOOD, GOOD), CENTRE, ZERO_SPEEDS)


def test_on_firm_ground_a_wheel_has_one_contact_for_each_face():
    given, entry = door(FIRM)
    wall = (0, 0, (0.099, 0.3, 0.098), (-1.0, 0.0, 0.0), 0.001, 0.3, NAN)
    entry.take(contacts(GOOD, wall), CENTRE, ZERO_SPEEDS)
    assert given.touching.tolist() == [2, 0]
    assert given.plane[0, 1, FRICTION] == 0.3
    with pytest.raises(BadMessage, match="normals are within 1 degree"):
        entry.take(contacts(GOOD, GOOD), CENTRE, ZERO_SPEEDS)


@pytest.mark.parametrize(("name", "value"), [("friction", -0.1), ("friction", math.inf), ("restitution", 0.0)])
def test_friction_and_restitution_out_of_range_are_refused(name, value):
    _, entry = door(FIRM)
    with pytest.raises(BadMessage, match=f"{name} is"):
        entry.take(changed(**{name: value}), CENTRE, ZERO_SPEEDS)


def test_restitution_holds_for_the_speed_at_which_the_wheel_came():
    given, entry = door(FIRM)
    falling = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.0]])
    wanted = gonthier_factor(0.4) / 0.5 * 1e6
    entry.take(changed(restitution=0.4, penetration=-0.001), CENTRE, falling)
    entry.take(changed(restitution=0.4), CENTRE, falling)
    entry.take(changed(restitution=0.4), CENTRE, -0.2 * falling)  # in contact the onset stays
    assert given.plane[0, 0, DAMPING] == pytest.approx(wanted)
    entry.take(contacts(), CENTRE, falling)
    entry.take(changed(restitution=0.4), CENTRE, 2.0 * falling)
    assert given.plane[0, 0, DAMPING] == pytest.approx(0.5 * wanted)
