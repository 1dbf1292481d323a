"""A CANopen stack that is not ours: as master of our simulated drive, and as slave of our driver."""

import math
import struct

import pytest

canopen = pytest.importorskip("canopen")
can = pytest.importorskip("can")

from canopen import objectdictionary as od  # noqa: E402
from canopen.profiles.p402 import BaseNode402  # noqa: E402

from drivers.can.simulated import SimAdapter  # noqa: E402
from drivers.can.slcan import CanFrame  # noqa: E402
from drivers.cia402.drives import Cia402Drives  # noqa: E402
from drivers.driver_type import RigSetup  # noqa: E402
from drivers.messages import DriveCommand  # noqa: E402
from drivers.sim.protocol.plant_ports import NEVER_NS  # noqa: E402

from .conftest import NODES, UNITS, cut, section_of  # noqa: E402

NUMBERS = {
    0x1000: od.UNSIGNED32, 0x1001: od.UNSIGNED8, 0x1017: od.UNSIGNED16, 0x6007: od.INTEGER16, 0x603F: od.UNSIGNED16,
    0x6040: od.UNSIGNED16, 0x6041: od.UNSIGNED16, 0x6060: od.INTEGER8, 0x6061: od.INTEGER8, 0x606C: od.INTEGER32,
    0x6075: od.UNSIGNED32, 0x6078: od.INTEGER16, 0x6079: od.UNSIGNED32, 0x60FF: od.INTEGER32, 0x6502: od.UNSIGNED32,
}  # fmt: skip
RECORDS = {0x1016: (od.UNSIGNED32,), 0x1018: (od.UNSIGNED32,) * 4}
PDOS = (0x1400, 0x1403, 0x1800)


def object_dictionary():
    """That of a drive, as its maker's file would have it."""
    made = od.ObjectDictionary()
    for index, kind in NUMBERS.items():
        made.add_object(variable(f"object {index:X}", index, 0, kind))
    name = variable("name", 0x1008, 0, od.VISIBLE_STRING)
    name.access_type = "const"
    made.add_object(name)
    records = dict(RECORDS)
    for parameters in PDOS:
        records |= {parameters: (od.UNSIGNED32, od.UNSIGNED8), parameters + 0x200: (od.UNSIGNED32,) * 8}
    for index, kinds in records.items():
        record = od.ODRecord(f"record {index:X}", index)
        for sub, kind in enumerate((od.UNSIGNED8, *kinds)):
            record.add_member(variable(f"member {index:X} {sub}", index, sub, kind))
        made.add_object(record)
    return made


def variable(name, index, sub, kind):
    made = od.ODVariable(name, index, sub)
    made.data_type, made.access_type, made.default = kind, "rw", 0
    made.pdo_mappable = True
    return made


@pytest.fixture
def master(rig, serve):
    """Its master on our pseudo-terminal, by the SLCAN interface of python-can."""
    serve([rig.line])
    bus = can.Bus(interface="slcan", channel=str(rig.line.path), bitrate=1_000_000, sleep_after_open=0.0)
    network = canopen.Network(bus)
    network.connect()
    yield network
    network.disconnect()


@pytest.mark.slow
def test_its_master_enables_runs_and_stops_our_simulated_drive(rig, master):
    node = BaseNode402(NODES[0], object_dictionary())
    master.add_node(node)
    node.sdo.RESPONSE_TIMEOUT = 5.0
    assert node.sdo[0x1008].raw == "simulated CiA 402 drive"  # in segments
    assert node.sdo[0x1000].raw & 0xFFFF == 402
    node.nmt.state = "PRE-OPERATIONAL"
    for pdo, numbers, kind in ((node.rpdo[1], (0x6040, 0x60FF), 255), (node.tpdo[1], (0x6041, 0x606C), 1)):
        pdo.read()
        pdo.clear()
        for index in numbers:
            pdo.add_variable(index)
        pdo.cob_id, pdo.trans_type, pdo.enabled = (0x200 if kind == 255 else 0x180) + NODES[0], kind, True
        pdo.save()
    node.setup_402_state_machine()
    node.op_mode = "PROFILED VELOCITY"
    node.nmt.state = "OPERATIONAL"
    master.sync.start(0.01)
    node.state = "OPERATION ENABLED"
    node.rpdo[1][0x60FF].raw = 4096
    node.rpdo[1].transmit()
    wheel = 0
    while rig.wheels.speed[wheel] != pytest.approx(4096 / UNITS, abs=1e-9):
        assert node.tpdo[1].wait_for_reception(5.0)
    assert node.tpdo[1].wait_for_reception(5.0)
    assert node.tpdo[1].wait_for_reception(5.0)
    assert node.tpdo_values[0x606C] == 4096
    node.state = "SWITCH ON DISABLED"
    assert rig.wheels.commanded[wheel][-1] is None
    rig.node(0).report_error(0x4210, 0x08)
    assert node.emcy.wait(0x4210, timeout=5.0).register == 0x08
    master.sync.stop()
    with pytest.raises(canopen.SdoAbortedError) as refused:
        node.sdo[0x6079].raw = 1
    assert refused.value.code == 0x06010002


class PeerNode(canopen.Network):
    """Its slave as a `SimulatedNode`: frames in and out without a thread, and the state machine of a drive."""

    def __init__(self, number):
        super().__init__()
        self.sent = []
        self.node = canopen.LocalNode(number, object_dictionary())
        self.add_node(self.node)
        for index, value in ((0x1000, 402), (0x1008, b"peer"), (0x6502, 4), (0x6075, 8000), (0x6079, 24500)):
            self.node.data_store[index] = {0: value if isinstance(value, bytes) else struct.pack("<I", value)}
        for sub, value in enumerate((7, 8, 9, number), start=1):
            self.node.data_store.setdefault(0x1018, {})[sub] = struct.pack("<I", value)
        self.statusword, self.words = 0x40, []
        self.node.add_write_callback(self.written)
        self.node.add_read_callback(self.read)

    def send_message(self, can_id, data, remote=False):
        self.sent.append(CanFrame(can_id, bytes(data)))

    def taken(self):
        sent, self.sent = self.sent, []
        return sent

    def take(self, frame, _t_ns):
        if frame.identifier == 0 and frame.data[0] == 0x82:
            self.node.nmt.send_command(0x82)  # its boot-up message goes out by this call only
            self.node.nmt.send_command(0x80)
            return self.taken()
        if frame.identifier == 0 and frame.data[0] == 0x01:
            for pdo in (*self.node.rpdo.values(), *self.node.tpdo.values()):
                pdo.read()
        for pdo in self.node.rpdo.values():
            if pdo.enabled and frame.identifier == pdo.cob_id:
                pdo.data = bytearray(frame.data)
                for entry in pdo:
                    self.node.set_data(entry.index, 0, entry.data)
        if frame.identifier == 0x80 and self.node.nmt.state == "OPERATIONAL":
            for pdo in self.node.tpdo.values():
                for entry in pdo:
                    entry.data = self.node.get_data(entry.index, 0)
                if pdo.enabled:
                    pdo.transmit()
        if frame.identifier in (0, 0x600 + self.node.id):
            self.notify(frame.identifier, bytearray(frame.data), 0.0)
        return self.taken()

    def wake(self, _now_ns):
        return NEVER_NS

    def unasked(self):
        return ()

    def written(self, index, subindex, od, data):
        if index == 0x6040:
            word = int.from_bytes(data, "little")
            self.words.append(word)
            steps = {(0x40, 0x06): 0x21, (0x21, 0x07): 0x23, (0x23, 0x0F): 0x27}
            self.statusword = 0x40 if not word & 2 else steps.get((self.statusword, word), self.statusword)

    def read(self, index, subindex, od):
        speed = self.node.data_store.get(0x60FF, {}).get(0, bytes(4))
        return {
            0x6041: self.statusword,
            0x6061: int.from_bytes(self.node.data_store.get(0x6060, {}).get(0, b"\0"), "little"),
            0x606C: struct.unpack("<i", speed)[0] if self.statusword == 0x27 else 0,
        }.get(index)


@pytest.mark.slow
def test_our_driver_sets_up_enables_runs_and_cuts_its_slave(tmp_path, line_time, until, step_for):
    peer = PeerNode(5)
    recorded = line_time.connect(tmp_path / "peer", SimAdapter([peer], 1_000_000), 1_000_000)
    section = section_of(str(recorded.line.path))
    (first, *_) = (one for one in section.controllers if one.node == 5)
    section = section.model_copy(update={"controllers": (first,), "reversed": ()})
    drives = Cia402Drives(section, RigSetup(wheels=(first.wheel,)))
    drives.open()
    assert [one.found for one in drives.health().identities] == ["7-8-9-5"]
    assert peer.node.data_store[0x1016][1] == struct.pack("<I", 127 << 16 | 100)
    assert peer.node.data_store[0x6007][0] == struct.pack("<h", 2)
    assert peer.node.tpdo[1].cob_id == 0x185
    assert [entry.index for entry in peer.node.tpdo[1]] == [0x6041, 0x606C, 0x6078]
    drives.write(cut(1))
    until(drives, lambda sample: sample.acknowledged_ns == 1)
    drives.write(DriveCommand(2, False, (0.25,)))
    sample = until(drives, lambda sample: sample.acknowledged_ns == 2)
    step_for(drives, 0.1)
    sample = until(drives, lambda sample: True)
    assert sample.speed_radps == pytest.approx((0.25,), abs=1.0 / UNITS)
    assert sample.power.supply_V == (24.5,)
    assert math.isclose(sample.power.current_A[0], 0.0)
    drives.write(DriveCommand(3, True, (0.0,)))
    drives.step()
    line_time.sleep(0.001)
    assert (peer.statusword, peer.words[-1]) == (0x40, 0)
    assert "peer" in drives.states()[0].version
