"""The devices of a config: what each kind of rig needs, and what is refused before anything is opened."""

from pathlib import Path

import pytest
import yaml

import rig_configs
from drivers.modbus.section import ModbusValvesSection
from drivers.ni.section import NiValvesSection
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboteq.section import RoboteqDrivesSection
from hil.app.driver_factory import DriverFactory
from hil.config import ConfigError, load_config, shipped_configs
from hil.config.loading import parse_config
from hil.config.rig_setup import rig_setup
from hil.messages.layout import SENSORS
from models.rover.assembly import WHEELS

CONTROLLERS = "devices.drives.controllers"
AXLES = ("front", "middle", "rear")
OWN_PORTS = [
    f"{{port: /dev/tty{axle}, channel_1: {axle}_left, channel_2: {axle}_right}}" for axle in ("front", "middle", "rear")
]
ROBOTEQ = f"devices.drives={{driver: roboteq, max_rpm: 3000, gear_ratio: 60, controllers: [{', '.join(OWN_PORTS)}]}}"
LINES = (
    "left_extend: m/port0/line0, left_retract: m/port0/line1, right_extend: m/port0/line2, right_retract: m/port0/line3"
)
NI_VALVES = f"devices.valves={{driver: ni, lines: {{{LINES}}}, watchdog_ms: 100}}"
THREE_BUSES = [
    "devices.drives.ports=[/dev/a, /dev/b, /dev/c]",
    "devices.drives.controllers.1.bus=1",
    "devices.drives.controllers.2.bus=2",
]


def refused(*overrides: str, config: str = "mars_dome", seed: int | None = None) -> dict[str, list[tuple[str, str]]]:
    """(found, allowed) by key of the refused values."""
    with pytest.raises(ConfigError) as caught:
        load_config(config, overrides, seed)
    problems: dict[str, list[tuple[str, str]]] = {}
    for problem in caught.value.problems:
        problems.setdefault(problem.key, []).append((problem.found, problem.allowed))
    return problems


@pytest.mark.slow
@pytest.mark.parametrize("name", list(shipped_configs()))
def test_every_shipped_config_is_one_and_is_named_by_its_file(name: str) -> None:
    assert load_config(name).name == name


def test_calibration_files_are_shipped_but_are_no_configs() -> None:
    folder = Path(rig_configs.__path__[0])
    assert list(shipped_configs()) == sorted(path.stem for path in folder.glob("*.yaml"))
    assert len(list((folder / "calibration").glob("*.yaml"))) > 2


@pytest.mark.parametrize(
    "name",
    ["mars_dome", "bumper", "sim_wire", "sim_cia402_wire", "sim_juno_wire", "sim_normal_force_wire", "sim_walk_wire"],
)
def test_a_rig_with_devices_can_be_run_as_a_model_in_virtual_time(name: str) -> None:
    config = load_config(name, ["rig=simulated", "clock=lockstep"], seed=4)
    assert (config.rig, config.clock, config.seed) == ("simulated", "lockstep", 4)


def test_an_address_may_be_written_in_hexadecimal() -> None:
    drives = load_config("mars_dome", ["devices.drives.controllers.0.address=0x87"]).devices.drives
    assert isinstance(drives, RoboClawDrivesSection)
    assert [controller.address for controller in drives.controllers] == [135, 129, 130]
    text = load_config("sim_impact", ["drives.holds_on_slope='0x80'"])
    assert text.drives.holds_on_slope == "0x80"


def test_the_other_drivers_are_chosen_by_name() -> None:
    devices = load_config("mars_dome", [ROBOTEQ, NI_VALVES]).devices
    assert isinstance(devices.drives, RoboteqDrivesSection)
    assert isinstance(devices.valves, NiValvesSection)
    assert isinstance(load_config("mars_dome").devices.valves, ModbusValvesSection)


def test_three_buses_bear_a_rate_that_one_does_not() -> None:
    assert set(refused("devices.drives.rate_hz=150")) == {"devices.drives.baud"}
    assert load_config("mars_dome", [*THREE_BUSES, "devices.drives.rate_hz=150"]).devices is not None


def test_limits_of_what_a_driver_measures_are_not_refused_because_its_section_has_an_error() -> None:
    wrong = [ROBOTEQ, "devices.drives.controllers.1={port: /dev/ttyACM1, m1: middle_left, m2: middle_right}"]
    assert not {key for key in refused(*wrong) if key.startswith("limits.")}


def test_the_other_rig_in_the_comments_of_mars_dome_is_a_config_too() -> None:
    """A lab with other controllers, and without obstacle and cylinders, uncomments it."""
    text = shipped_configs()["mars_dome"]
    drives = text[text.index("  # drives:\n") :].partition("\n\n")[0]
    section = "\n".join(line.removeprefix("  # ") for line in drives.splitlines())
    content = yaml.safe_load(text) | {"devices": yaml.safe_load(section)}
    del content["trial"]
    other = {"experiment": "drive", "daq": None, "cylinders": {"joints": []}}
    assert parse_config(yaml.safe_dump(content | other), "other").layout.links == ("drives",)


@pytest.mark.parametrize(
    ("overrides", "key", "found", "allowed"),
    [
        (["devices.drives.controllers.2.m2=front_left"], CONTROLLERS, "front_left on 2", "one channel"),
        (["devices.drives.controllers.2.m2=front_left"], CONTROLLERS, "rear_right on no", "one channel"),
        (["devices.drives.controllers=[]"], CONTROLLERS, "middle_left on no", "one channel"),
        (["devices.drives.controllers.1.address=0x80"], CONTROLLERS, "0x80 2 times on bus 0", "once"),
        (["devices.drives.controllers.1.identity=65535"], CONTROLLERS, "identity 65535", "1 to 65534, its mark"),
        (["devices.drives.controllers.1.identity=1-2"], CONTROLLERS, "identity 1-2", "1 to 65534, its mark"),
        (["devices.drives.controllers.1.identity=0"], f"{CONTROLLERS}.1.identity", "0", "as hil check shows it"),
        (["devices.drives.controllers.1.bus=1"], CONTROLLERS, "bus 1 of 1", "devices.drives.ports"),
        (["devices.drives.ports=[/dev/ttyACM3]"], CONTROLLERS, "0x82 on bus 0, /dev/ttyACM3", "one controller"),
        (["devices.drives.ports=[/dev/a, /dev/b]"], "devices.drives.ports", "no controller", "with controllers"),
        (["devices.drives.reversed=[rear_left, rear_left]"], "devices.drives.reversed", "rear_left twice", "once"),
        (["devices.drives.baud=38400"], "devices.drives.baud", "38400, busy for 159%", "80%"),
        (["devices.drives.rate_hz=10"], "devices.drives.rate_hz", "10", "at least 20: two set-points"),
        (["devices.drives.ports=['']"], "devices.drives.ports", "''", "hil devices"),
        ([ROBOTEQ, "devices.drives.baud=2400"], "devices.drives.baud", "busy", "80%"),
        ([ROBOTEQ, "devices.drives.rate_hz=10"], "devices.drives.rate_hz", "10", "at least 20: two set-points"),
        ([ROBOTEQ, "devices.drives.max_rpm=500"], "devices.drives.max_rpm", "500", "at least 573"),
        ([ROBOTEQ, "devices.drives.controllers.1.port=/dev/ttyfront"], CONTROLLERS, "2 links", "separate"),
        ([ROBOTEQ, "devices.drives.controllers.1.port=''"], CONTROLLERS, "''", "hil devices"),
        ([ROBOTEQ, "devices.drives.controllers.1.channel_1=rear_left"], CONTROLLERS, "rear_left", "one"),
        (["devices.valves.port=/dev/ttyUSB0"], "devices.valves.port", "/dev/ttyUSB0 for 2 links", "a separate port"),
        (["devices.valves.port=''"], "devices.valves.port", "''", "hil devices"),
        (["devices.valves.coils.left_extend=3"], "devices.valves.coils", "coil 3 for 2", "a different coil"),
        (["devices.valves.flash_on=false"], "devices.valves.flash_on", "no dead-man", "no_dead_man: accepted"),
        (["devices.valves.rate_hz=40"], "devices.valves.baud", "9600, busy", "80%"),
        (["devices.valves.flash_s=0.25"], "devices.valves.flash_s", "0.25", "tenths"),
        (["devices.valves.moves_within_s=0.1"], "devices.valves.moves_within_s", "0.1", "pressure_registers"),
        ([NI_VALVES, "devices.valves.watchdog_ms=null"], "devices.valves.watchdog_ms", "no dead-man", "accepted"),
        ([NI_VALVES, "devices.valves.lines.left_extend=m/port0/line3"], "devices.valves.lines", "2 times", "once"),
        ([NI_VALVES, "devices.daq.e_stop=M/port0/line3"], "devices.valves.lines", "m/port0/line3 2 times", "once"),
        (["devices.daq.inputs.0.channel=/cDAQ1Mod1/ai1"], "devices.daq.inputs", "cdaq1mod1/ai1 2 times", "once"),
        (["devices.daq.inputs.0.sensor=lower_left"], "devices.daq.inputs", "2 inputs for lower_left", "one for each"),
        (["devices.daq.inputs.0.sensor=lower_left"], "devices.daq.inputs", "no input for top", "one for each"),
        (["devices.daq.inputs.0.sensor=front_left"], "devices.daq.inputs", "an input for front_left", "lower_right"),
        (["clock=lockstep"], "clock", "lockstep", "realtime"),
        (["devices=null"], "devices.drives", "nothing", "needed with rig: real"),
        (["devices=null"], "devices.daq", "nothing", "or daq: null, if the rig has no data acquisition"),
        (["devices.valves=null"], "devices.valves", "nothing", "or cylinders.joints: [], if the rig has no cylinders"),
        (["cylinders.joints=[]"], "devices.valves", "a section, modbus", "has no cylinders (rover.type, cylinders"),
        (["devices.drives.driver=vesc"], "devices.drives.driver", "'vesc'", "roboclaw or roboteq or cia402"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_failed_cross_check_is_named_with_what_was_found(
    overrides: list[str], key: str, found: str, allowed: str
) -> None:
    said = refused(*overrides)[key]
    assert any(found in what and allowed in instead for what, instead in said), said


@pytest.mark.parametrize(
    "overrides",
    [
        ["devices.valves.flash_on=false", "devices.valves.no_dead_man=accepted"],
        [NI_VALVES, "devices.valves.watchdog_ms=null", "devices.valves.no_dead_man=accepted"],
        [NI_VALVES, "devices.valves.server=far:31763", "devices.daq.e_stop=m/port0/line3"],  # another machine's
    ],
)
def test_what_is_meant_so_is_not_refused(overrides: list[str]) -> None:
    assert load_config("mars_dome", overrides).devices is not None


THREE = ["cylinders.joints=[left_bogie, right_bogie, rear_bogie]", "devices.valves.flash_s=1"]
EACH = [*THREE, "cylinders.regulators=each", "devices.valves.rate_hz=5"]
PLACES = "left: {holding_register: 0}, right: {holding_register: 1}, rear: {holding_register: 2}"
SCALE = "full_scale_kPa: 600, full_scale_counts: 4000"
WATCHDOG = "watchdog: {holding_register: 9, timeout_ms: 500}"
REGULATORS = f"devices.valves.regulators={{{PLACES}, {SCALE}, {WATCHDOG}}}"
NI_LINES = ", ".join(f"{side}_extend: m/port0/line{i}" for i, side in enumerate(("left", "right", "rear")))
NI_THREE = [
    THREE[0], "cylinders.ways=extend", "cylinders.regulators=each",
    f"devices.valves={{driver: ni, lines: {{{NI_LINES}}}, watchdog_ms: 100, "
    "regulators: {left: m/ao0, right: m/ao1, rear: m/ao2, kPa_per_V: 60}}",
]  # fmt: skip


@pytest.mark.parametrize(
    "overrides",
    [
        THREE,
        [*THREE, "cylinders.ways=retract", "devices.valves.coils={left_retract: 6}"],
        [*EACH, REGULATORS],
        [*EACH, f"devices.valves.regulators={{{PLACES}, {SCALE}, port: /dev/ttyUSB2, no_dead_man: accepted}}"],
        [THREE[0], "cylinders.regulators=common", "devices.valves.rate_hz=4", "devices.valves.flash_s=1",
         f"devices.valves.regulators={{supply: {{holding_register: 0}}, {SCALE}, {WATCHDOG}}}"],
        NI_THREE,
    ],
)  # fmt: skip
def test_any_number_of_cylinders_and_ways_has_its_valves_and_regulators(overrides: list[str]) -> None:
    config = load_config("mars_dome", overrides)
    DriverFactory(config.devices, rig_setup(config)).device("valves")  # refuses what the driver cannot do


def test_a_valve_without_a_coil_has_that_of_its_place() -> None:
    coils = load_config("mars_dome", THREE).devices.valves.coils
    names = [f"{side}_{way}" for side in ("left", "right", "rear") for way in ("extend", "retract")]
    assert coils.in_order(names) == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("overrides", "key", "found", "allowed"),
    [
        (THREE[:1], "devices.valves.baud", "9600, busy for 82%", "80%"),
        (["devices.valves.coils.rear_extend=4"], "devices.valves.coils.rear_extend", "unknown key", "left_extend"),
        ([NI_VALVES, THREE[0]], "devices.valves.lines.rear_extend", "nothing", "rear_retract"),
        (EACH, "devices.valves.regulators", "null", "left, right, rear"),
        ([*EACH, REGULATORS, "devices.valves.regulators.full_scale_kPa=100"], "devices.valves.regulators", "100 kPa",
         "cylinders.supply_kPa, 207"),
        ([*EACH, REGULATORS, "devices.valves.regulators.zero_counts=4000"], "devices.valves.regulators.zero_counts",
         "4000", "less than"),
        ([*EACH, REGULATORS, "devices.valves.regulators.watchdog=null"], "devices.valves.regulators", "no dead-man",
         "no_dead_man: accepted"),
        ([*EACH, REGULATORS, "devices.valves.regulators.left.holding_register=2"], "devices.valves.regulators",
         "register 2 at address 1 for 2", "different"),
        ([*EACH, REGULATORS, "devices.valves.regulators.front={holding_register: 7}"],
         "devices.valves.regulators.front", "unknown key", "left, right, rear"),
        ([*EACH, REGULATORS, "devices.valves.rate_hz=3"], "devices.valves.rate_hz", "3", "at least 4: two set-points"),
        ([*EACH, REGULATORS, "devices.valves.rate_hz=10"], "devices.valves.baud", "busy", "80%"),
        ([*EACH, REGULATORS, "devices.valves.regulators.port=/dev/ttyUSB1"], "devices.valves.regulators",
         "/dev/ttyUSB1 for 2 links", "separate"),
        ([*EACH, REGULATORS, "devices.valves.regulators.port=''"], "devices.valves.regulators", "''", "hil devices"),
        ([*EACH, REGULATORS, "devices.valves.regulators.port=/dev/ttyS1", "devices.valves.regulators.baud=1200"],
         "devices.valves.regulators.baud", "1200, with a longest exchange", "less than 60 ms"),
        ([*EACH, REGULATORS, "devices.valves.regulator={holding_register: 8, kPa_per_count: 1}"],
         "devices.valves.regulator", "a section", "null"),
        ([REGULATORS], "devices.valves.regulators.left", "unknown key", "none"),
        ([*NI_THREE, "devices.valves.watchdog_ms=null"], "devices.valves.regulators", "no dead-man", "accepted"),
        ([*NI_THREE, "devices.valves.regulators.left=m/ao2"], "devices.valves.regulators", "m/ao2 2 times", "once"),
        ([*NI_THREE, "devices.valves.regulators.kPa_per_V=20"], "devices.valves.regulators", "200 kPa", "207"),
    ],
)  # fmt: skip
def test_valves_and_regulators_that_do_not_fit_the_rig_are_refused(
    overrides: list[str], key: str, found: str, allowed: str
) -> None:
    said = refused(*overrides)[key]
    assert any(found in what and allowed in instead for what, instead in said), said


def test_a_key_that_may_be_null_says_so() -> None:
    assert refused("devices.valves.moves_within_s=99")["devices.valves.moves_within_s"] == [
        ("99", "a number 0.01 to 10 or null")
    ]
    assert refused("devices.daq.calibration=3")["devices.daq.calibration"][0][1].startswith("path of a calibration")
    assert refused("devices.drives.rate_hz=null")["devices.drives.rate_hz"] == [("nothing (null)", "a number 1 to 500")]


def test_a_seed_is_refused_with_a_real_rig_only() -> None:
    assert set(refused(seed=3)) == {"--seed"}
    assert load_config("sim_wire", seed=3).seed == 3


@pytest.mark.parametrize("clock", ["lockstep", "realtime"])
def test_ports_may_be_left_empty_only_where_devices_are_simulated(clock: str) -> None:
    assert load_config("sim_wire").devices is not None
    assert set(refused("rig=real", config="sim_wire")) == {"devices.drives.ports", "devices.valves.port"}
    assert load_config("sim_wire", ["rig=simulated", f"clock={clock}"]).devices is not None


def test_failed_cross_checks_of_all_devices_and_wrong_keys_are_reported_at_once() -> None:
    problems = refused(
        "trial.angle_deg=100",
        "clock=lockstep",
        "devices.drives.counts_per_rev=0",
        "devices.drives.controllers.2.m2=front_left",
        "devices.valves.rate_hz=abc",
        "devices.valves.flash_on=false",
        "devices.valves.port=/dev/ttyUSB0",
        "devices.daq.inputs.1.channel=cDAQ1Mod1/ai0",
        "devices.daq.server=nowhere",
        "devices.daq.calibration=none.yaml",
        seed=1,
    )
    assert set(problems) == {
        "--seed",
        "trial.angle_deg",
        "clock",
        "devices.drives.counts_per_rev",
        "devices.drives.controllers",
        "devices.valves.rate_hz",
        "devices.valves.flash_on",
        "devices.valves.port",
        "devices.daq.inputs",
        "devices.daq.server",
        "devices.daq.calibration",
    }


def test_a_device_that_cannot_be_read_does_not_hide_the_failed_cross_checks_of_the_others() -> None:
    problems = refused("devices.drives.driver=vesc", "devices.valves.coils.left_extend=3")
    assert set(problems) == {"devices.drives.driver", "devices.valves.coils"}


def test_the_keys_of_one_driver_are_unknown_to_the_other(tmp_path: Path) -> None:
    problems = refused(ROBOTEQ, "devices.drives.timeout_ms=100")
    assert list(problems) == ["devices.drives.timeout_ms"]
    assert "unknown key" in problems["devices.drives.timeout_ms"][0][0]


def test_the_drives_cover_the_wheels_and_sensors_of_the_record() -> None:
    drives = load_config("sim_wire").devices.drives
    assert [wheel for controller in drives.controllers for wheel in (controller.m1, controller.m2)] == list(WHEELS)
    for name, layout in (("sim_wire", "triangle"), ("bumper", "bumper")):
        config = load_config(name)
        assert tuple(channel.name for channel in config.daq.channels) == SENSORS[layout]


def test_a_rig_without_force_sensors_and_cylinders_needs_drives_alone() -> None:
    devices = load_config("sim_juno_wire").devices
    assert devices is not None
    assert (devices.daq, devices.valves) == (None, None)
    assert set(refused("devices.drives=null", config="sim_juno_wire")) == {"devices.drives"}


@pytest.mark.parametrize(
    ("override", "key", "why"),
    [
        ("devices.valves={driver: modbus, flash_on: true}", "devices.valves", "the rig has no cylinders"),
        ("devices.daq={driver: ni}", "devices.daq", "with daq: null the rig has no data acquisition"),
    ],
)
def test_a_device_for_what_the_rig_has_not_is_refused(override: str, key: str, why: str) -> None:
    problems = refused(override, config="sim_juno_wire")
    assert set(problems) == {key}
    assert why in problems[key][0][1]
