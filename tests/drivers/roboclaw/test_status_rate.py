"""How often the controllers' status, with their emergency stop, is read."""

from collections import Counter

import pytest

from drivers.roboclaw.protocol import CommandCode


@pytest.mark.slow
def test_each_controller_is_asked_for_its_status_twenty_times_as_often_as_for_its_battery(rig, running):
    """An emergency stop must be detected within 100 ms; the battery is not urgent."""
    drives = rig.drives()
    running(drives)

    def asked():
        return Counter((data[0], data[1]) for _, _, data in list(rig.recorders[0].received))

    addresses = [controller.address for controller in rig.controllers]
    while min(asked()[address, CommandCode.STATUS] for address in addresses) < 16:
        drives.step()
    for address in addresses:
        assert asked()[address, CommandCode.STATUS] <= 20
        assert asked()[address, CommandCode.MAIN_BATTERY] <= 4
