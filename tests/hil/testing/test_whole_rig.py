"""The whole rig as a fixture: every device of a config, with its rover."""

from pathlib import Path

import pytest
import serial

from hil.testing import rig

pytestmark = pytest.mark.slow


def test_a_program_reaches_every_device_of_a_rig_and_a_test_sees_its_truth():
    with rig("sim_juno_wire") as whole:
        assert {"roboclaw", "control"} <= set(whole.endpoints)
        with serial.Serial(whole.endpoints["roboclaw"], 115200, timeout=30.0) as port:
            port.write(bytes((0x80, 21)))
            assert b"Roboclaw" in port.read(8 + len(b"Roboclaw"))
        assert "contact_force_peak" in whole.ask("truth")
        folder = Path(whole.endpoints["control"]).parent
    assert not folder.exists()
    whole.close()  # twice is nothing
