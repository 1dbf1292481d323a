"""Packages of somebody else's bring drivers, experiments and a rover: installed, they need no change of ours.

Driver `textline` and experiment `spin` are what `hil init` writes.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "example_package"
DRIVES = "devices.drives={driver: textline, rate_hz: 100}"
SPIN = ("experiment=spin", "spin={seconds: 0.5, speed_radps: 0.3}")
# In virtual time: the loop, its workers, and the package's driver against its own simulated device.
PROTOCOL_RUN = """
import sys
from pathlib import Path
from hil.config.rig import Rig
from hil.app.faults.virtual_run import VirtualRun
from hil.config import load_config

folder, scratch = Path(sys.argv[1]) / "run", Path(sys.argv[1]) / "rig"
folder.mkdir(), scratch.mkdir()
run = VirtualRun(Rig(load_config("sim_wire", sys.argv[2:])), folder, scratch)
moving = [run.simulated_rig.driven_radps() for step in range(30) if run.until(0.1 * step)]
run.finish()
safety, experiment = run.rig.cycle.safety, run.rig.cycle.experiment
at_last = max(map(abs, run.simulated_rig.driven_radps()))
print(max(max(speeds) for speeds in moving), at_last, experiment.done, safety.faults)
run.close()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Runs Python where the package is installed."""
    source, target = tmp_path_factory.mktemp("source") / "package", tmp_path_factory.mktemp("target")
    source.mkdir()
    written = tmp_path_factory.mktemp("written")
    for kind, name in (("driver", "textline"), ("experiment", "spin")):
        subprocess.run([sys.executable, "-m", "hil.cli", "init", kind, name], cwd=written, check=True)
    for file in SOURCE.rglob("*"):  # a build leaves folders beside its sources
        if file.suffix in (".py", ".toml"):
            (source / file.relative_to(SOURCE)).parent.mkdir(exist_ok=True)
            (source / file.relative_to(SOURCE)).write_bytes(file.read_bytes())
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    packages = map(str, (source, written / "textline", written / "spin"))
    subprocess.run([*pip, "--target", str(target), *packages], check=True, capture_output=True)

    def run(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(target)}
        return subprocess.run(
            [sys.executable, "-P", *arguments], env=environment, capture_output=True, text=True, check=check
        )

    run.written = written
    return run


@pytest.mark.ci_cases("textline-4")
@pytest.mark.slow
@pytest.mark.parametrize(("name", "tests"), [("textline", 4), ("spin", 2)])
def test_the_tests_that_hil_init_writes_pass(installed, name, tests):
    done = installed("-m", "pytest", "-q", "-p", "no:cacheprovider", str(installed.written / name))
    assert f"{tests} passed" in done.stdout


@pytest.mark.slow
def test_its_driver_drives_a_wheel_and_cuts_it_at_the_end_of_its_experiment(installed, tmp_path):
    quiet = ("telemetry.endpoint=''",)
    done = installed("-c", PROTOCOL_RUN, str(tmp_path), DRIVES, *SPIN, *quiet)
    assert done.stdout.split(maxsplit=3) == ["0.3", "0.0", "True", "[]\n"]


@pytest.mark.slow
def test_its_experiment_runs_in_lockstep_and_has_its_own_part_of_the_summary(installed, tmp_path):
    settings = [f"--set={item}" for item in (*SPIN, "telemetry.endpoint=''", "record.after_s=0.1")]
    done = installed("-m", "hil.cli", "run", "sim_impact", "--json", "--out", str(tmp_path / "run"), *settings)
    summary = json.loads(done.stdout)
    assert (summary["experiment"], summary["accepted"], summary["reasons"]) == ("spin", True, [])
    assert summary["fastest_radps"] == pytest.approx(0.3, abs=0.02)


def lockstep(installed, folder, config, *settings):
    given = [f"--set={item}" for item in (*settings, "telemetry.endpoint=''", "record.after_s=0.1")]
    done = installed("-m", "hil.cli", "run", config, "--json", "--out", str(folder), *given)
    return json.loads(done.stdout)


@pytest.mark.soak
def test_its_experiment_shares_the_weight_evenly_on_a_slope_as_ours_do(installed, tmp_path):
    slope = ("ground.pitch_deg=3", "rover.drawbar.pull_N=300")
    summary = lockstep(installed, tmp_path / "run", "sim_normal_force", "experiment=crawl", *slope)
    assert (summary["experiment"], summary["accepted"], summary["reasons"]) == ("crawl", True, [])
    passive = lockstep(
        installed, tmp_path / "passive", "sim_normal_force", *slope, "normal_force.steps=[{for_s: 2, mode: passive}]"
    )
    assert summary["spread"] < 0.6 * passive["load_steps"][0]["spread"]


@pytest.mark.slow
def test_its_experiment_meets_the_obstacle_and_is_cut_there(installed, tmp_path):
    near = ("experiment=touch", "trial.start_distance_m=0.02")
    summary = lockstep(installed, tmp_path / "run", "sim_impact", *near)
    assert (summary["experiment"], summary["accepted"], summary["touched"]) == ("touch", True, True)


@pytest.mark.slow
def test_its_experiment_without_an_obstacle_drives_over_open_ground(installed):
    asked = "from hil.config import load_config; from hil.config.model_parameters import nominal_rig;"
    asked += "print(nominal_rig(load_config('sim_impact', ['experiment=spin', 'ground.pitch_deg=5'])).obstacle)"
    assert installed("-c", asked).stdout == "None\n"


@pytest.mark.slow
def test_its_settings_are_checked_and_a_wrong_key_is_named_as_one_of_ours_is(installed):
    wrong = "devices.drives={driver: textline, baud: 1, timeout_ms: 50, rate_hz: 10, colour: red}"
    done = installed("-m", "hil.cli", "check", "sim_wire", "--set", wrong, check=False)
    assert done.returncode == 2
    assert "devices.drives.baud: found 1; allowed: a whole number 1200 to 1000000" in done.stderr
    assert "devices.drives.colour: found an unknown key" in done.stderr


@pytest.mark.slow
def test_its_cross_check_is_made(installed):
    wrong = "devices.drives={driver: textline, timeout_ms: 100, rate_hz: 10}"
    done = installed("-m", "hil.cli", "check", "sim_wire", "--set", wrong, check=False)
    assert done.returncode == 2
    assert "devices.drives.rate_hz: found 10; allowed: at least 20: two set-points within timeout_ms" in done.stderr


@pytest.mark.slow
def test_its_driver_is_among_the_names_that_a_wrong_one_is_answered_with(installed):
    done = installed("-m", "hil.cli", "check", "sim_wire", "--set=devices.drives.driver=vesc", check=False)
    names = "roboclaw or roboteq or cia402 or textangles or textcells or textline"
    assert f"devices.drives.driver: found 'vesc'; allowed: {names}" in done.stderr


CELLS = (
    "clock=lockstep",
    "loads={rate_hz: 100, block_ms: 10, load_cell: {force_N: 500, noise_V: 0}}",
    "loads.errors={zero: 0, drift_per_min: 0, gain: 0, cross_talk: 0}",
    "devices.loads={driver: textcells}",
    "drive.steps=[{for_s: 0.5, speed_mps: 0.05}]",
    "rover.drawbar.pull_N=60",
)


@pytest.mark.slow
def test_its_load_cell_sends_newtons_through_a_whole_run_into_the_record_and_what_is_exported(installed, tmp_path):
    summary = lockstep(installed, tmp_path / "run", "sim_juno_wire", *CELLS)
    assert (summary["accepted"], summary["reasons"], summary["links"]["loads"]["errors"]) == (True, [], 0)
    asked = "import sys; from hil.analysis.dataset import open_run; run = open_run(sys.argv[1])['load_raw_N'];"
    asked += (
        "import json; pull = run.sel(load_channel='pull'); steps = run['load_sample_time'].diff('load_sample_time')"
    )
    asked += "; print(json.dumps([run.attrs['units'], float(pull.min()), float(pull.max()), float(steps.max())]))"
    unit, least, most, step_s = json.loads(installed("-c", asked, str(tmp_path / "run")).stdout)
    assert unit == "N"
    assert least == pytest.approx(60.0, abs=0.05)
    assert most == pytest.approx(60.0, abs=0.05)
    assert step_s == pytest.approx(0.01, abs=0.001)


@pytest.mark.slow
def test_too_slow_a_line_for_its_load_cell_is_refused(installed):
    settings = [f"--set={item}" for item in (*CELLS, "devices.loads.baud=9600")]
    done = installed("-m", "hil.cli", "check", "sim_juno_wire", *settings, check=False)
    assert done.returncode == 2
    assert "devices.loads.baud: found 9600, busy for" in done.stderr


# Its driver of an instrument against its own simulated device, by a line in virtual time.
READ_ANGLES = """
from pathlib import Path
from drivers.registry import driver_of
from drivers.sim.protocol.line import Line
from drivers.sim.protocol.plant_ports import PlantPorts
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from drivers.sim.virtual.serial import VirtualLines
from hil.config import load_config
from hil.config.rig_setup import rig_setup

device = "devices.joints={driver: textangles, port: /dev/a}"
config = load_config("sim_wire", ["joints={rate_hz: 50, delay_ms: 1}", device])
section, setup, time = config.devices.joints, rig_setup(config), VirtualTime()
joints = setup.instruments["joints"].channels

class Encoders:
    channels, rate_hz = joints, 50.0
    def since(self, sequence):
        return [(1, time.now_ns, tuple(0.01 * place for place in range(len(joints))))]

kind, host = driver_of(section), VirtualHost(time)
port = kind.simulated_ports(section, setup, PlantPorts(None, None, None, {"joints": Encoders()}))["textangles"]
line = Line(Path("/dev/a"), port.device, port.baud, port.turnaround_ns, host.terminal)
VirtualLines(time, {"a": line}, host.ports)
device = kind.make(section, setup, host)
device.open()
found = []
while time.now_ns < 2_000_000_000:
    device.step()
    found += [reading] if (reading := device.read(time.now_ns)) else []
print(len(found), [reading.sequence for reading in found[:3]], len(joints), found[-1].value[:3])
print({reading.arrived_ns - reading.t_ns for reading in found}, device.health().open)
time.close()
"""


@pytest.mark.slow
def test_its_driver_of_an_instrument_reads_the_joints_of_the_rig(installed):
    said = installed("-c", READ_ANGLES).stdout.splitlines()
    count, rest = said[0].split(maxsplit=1)
    assert int(count) == pytest.approx(50, abs=3)  # 50 a second, each a transaction after the last
    joints = int(rest.split("]")[1].split()[0])
    assert joints >= 3
    assert rest == f"[1, 2, 3] {joints} (0.0, 0.01, 0.02)"
    assert said[1] == "{1000000} True"


TRACTOR = ("rover.type=tractor", "rover.tractor.wheelbase_m=0.9", "drives.torque_limit_Nm=60")


@pytest.mark.slow
def test_its_rover_hits_the_obstacle_in_lockstep_and_the_run_is_accepted(installed, tmp_path):
    summary = lockstep(installed, tmp_path / "run", "sim_impact", *TRACTOR)
    assert (summary["experiment"], summary["accepted"], summary["reasons"]) == ("impact", True, [])
    asked = "import sys; from pathlib import Path; from hil.recording import read_trial;"
    asked += "print(read_trial(Path(sys.argv[1])).tick['normal_force_N'].shape[1])"
    assert installed("-c", asked, str(tmp_path / "run" / "trial.h5")).stdout == "4\n"


@pytest.mark.slow
def test_its_rover_stands_on_a_slope_with_loads_in_equilibrium(installed):
    """Moments about the rear wheels: the weight of all but the rear wheels, over their places."""
    asked = "from hil.config import load_config; from hil.config.model_parameters import nominal_rig\n"
    asked += "from models.statics import SteadyRover\n"
    asked += "config = load_config('sim_impact', ['rover.type=tractor', 'experiment=spin', 'ground.pitch_deg=5'])\n"
    asked += "rover, vehicle, _ = nominal_rig(config).assemble()\n"
    asked += "print(SteadyRover(rover, vehicle, 0.0).at().load.tolist())"
    loads = json.loads(installed("-c", asked).stdout)
    slope, mass = math.radians(5.0), 81.0
    weight = mass * 9.80665
    # centre of mass: the body in the middle, the axle ahead; all at their heights over the ground
    ahead, up = 5.0 * 0.4 / mass, (60.0 * 0.35 + 21.0 * 0.15) / mass
    front = weight * ((0.4 + ahead) * math.cos(slope) - up * math.sin(slope)) / 0.8
    assert sum(loads) == pytest.approx(weight * math.cos(slope), rel=1e-3)
    assert loads[0] + loads[1] == pytest.approx(front, rel=0.02)


@pytest.mark.slow
def test_a_wrong_size_of_its_rover_is_named_as_one_of_ours_is(installed):
    wrong = ("--set=rover.type=tractor", "--set=rover.tractor={track_m: 20, colour: red}", "--set=rover.body_mass_kg=9")
    done = installed("-m", "hil.cli", "check", "sim_impact", *wrong, check=False)
    assert done.returncode == 2
    assert "rover.tractor.track_m: found 20; allowed: a number 0.1 to 10" in done.stderr
    assert "rover.tractor.colour: found an unknown key" in done.stderr
    assert "rover.body_mass_kg: found 9; allowed: 60.0, its default" in done.stderr
    assert "type tractor does not have it, use rover.tractor.body_mass_kg" in done.stderr
    done = installed(
        "-m",
        "hil.cli",
        "check",
        "sim_impact",
        "--set=rover.type=tractor",
        "--set=rover.tractor.track_m=0.11",
        check=False,
    )
    assert "rover.tractor: found an impossible rover; allowed: tractor: track is 0.11 m" in done.stderr


@pytest.mark.slow
def test_a_section_of_its_rover_beside_another_type_is_refused(installed):
    done = installed("-m", "hil.cli", "check", "sim_impact", "--set=rover.tractor.track_m=0.6", check=False)
    assert "rover.tractor.track_m: found 0.6; allowed: 0.7, its default: a rover of type rcp" in done.stderr


@pytest.mark.slow
def test_its_rover_is_among_the_names_that_a_wrong_one_is_answered_with(installed):
    done = installed("-m", "hil.cli", "check", "sim_impact", "--set=rover.type=car", check=False)
    assert "rover.type: found 'car'; allowed: rcp or parametric" in done.stderr
    assert "imported or tractor" in done.stderr
