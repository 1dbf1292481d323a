"""What virtual time needs: nothing of an extra, as long as no device is behind a device server."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules |= {"grpc": None, "nidaqmx": None}
import hil.testing
with hil.testing.VirtualBench() as bench, hil.testing.roboclaw(bench=bench) as device:
    print(device.baud)
"""


@pytest.mark.slow
def test_serial_devices_in_virtual_time_need_no_package_of_an_extra():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout == "115200\n", done.stderr
