"""A rover that another program moves by the step service."""

import ctypes.util
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zmq

from hil.api.stepping import Moved, StepClient, StepError
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.config.schema.equipment import KeysConfig
from hil.operator.curve import new_keys
from hil.simulator.stepping import layout
from hil.simulator.stepping.service import StepService, StepSocket
from tests.hil.simulator.stepping.served import STEP_NS, ServedProcess, built_in, drive, level_ground, same

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

NAN = math.nan
C_CLIENT = Path(__file__).parents[4] / "examples" / "step_client.c"


@pytest.fixture
def rover(on_soil):
    on_soil.client.reset()
    return on_soil.client


def test_the_description_names_every_number_and_holds_the_urdf(rover):
    reported, sizes = rover.description, rover.sizes
    assert (len(reported["q"]), len(reported["v"]), len(reported["wheels"])) == (sizes.nq, sizes.nv, sizes.wheels)
    assert reported["contacts"] == "outside"
    for name in reported["q"][7:]:
        assert f'name="{name}"' in reported["urdf"]
    assert rover.wheels == ("front_left", "front_right", "rear_left", "rear_right")


def test_a_rover_whose_wheels_touch_nothing_falls(rover):
    now = rover.state()
    assert isinstance(now, Moved)
    later = rover.step(20_000_000, [])
    assert later.q[2] - now.q[2] == pytest.approx(-0.5 * 9.81 * 0.02**2, rel=0.05)
    assert not later.load.any()


def test_the_work_of_the_drives_is_counted_from_the_reset_on(rover):
    drive(rover, 30)
    assert rover.energy()["drives"] > 0.0
    rover.reset()
    assert rover.energy()["drives"] == 0.0


def test_a_step_that_is_sent_twice_is_done_once(rover):
    now = rover.state()
    assert isinstance(now, Moved)
    later = rover.step(STEP_NS, level_ground(rover, now))
    rover.t_ns = now.t_ns
    with pytest.raises(StepError, match="step from 0 ns, here it is 2000000 ns"):
        rover.step(STEP_NS, level_ground(rover, later))
    assert np.array_equal(rover.state().q, later.q)


def test_each_step_needs_contacts_of_its_own(rover):
    rover.step(STEP_NS, level_ground(rover, rover.state()))
    with pytest.raises(StepError, match="step without contacts since the last step, needed: contacts, with count 0"):
        rover.step(STEP_NS)


@pytest.mark.parametrize("dt_ns", [0, -1, 100_000_001])
def test_a_step_out_of_range_is_refused_and_nothing_moves(rover, dt_ns):
    with pytest.raises(StepError, match=f"step of {dt_ns} ns, allowed: 1 to 100000000"):
        rover.step(dt_ns, [])
    assert rover.state().t_ns == 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"speed": [math.inf] * 4}, "speed is .*allowed: finite numbers, or NaN"),
        ({"speed": [NAN] * 4, "duty": [2.0] * 4}, "duty is .*allowed: -1 to 1"),
        ({"speed": [NAN] * 4, "duty": [0.5] * 4}, "duty .*the drives have no motor parameters"),
    ],
)
def test_a_command_that_the_rover_has_no_way_to_obey_is_refused(rover, command, words):
    with pytest.raises(StepError, match=words):
        rover.command(**command)


def test_what_comes_after_a_refused_message_is_not_done(on_soil):
    service = on_soil.service
    on_soil.client.reset()
    bad = layout.write(layout.COMMAND, b"", service.number)
    step = layout.write(layout.STEP, layout.STEP_BODY.pack(0, STEP_NS), service.number)
    replies = service.answer([layout.write_contacts(np.zeros(0, layout.CONTACT), service.number), bad, step])
    assert [layout.read(reply).kind for reply in replies] == [layout.CONTACTS, layout.REFUSED]
    assert on_soil.client.state().t_ns == 0


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([], "0 messages, allowed: 1 to 16"),
        ([b""] * 17, "17 messages, allowed: 1 to 16"),
        ([b"\x00" * 40], "begins with"),
        ([layout.write(layout.REFUSED)], "is for rig 00000000"),
        ([layout.write(layout.STATE, rig=1)], "was started anew with another config or version"),
    ],
)
def test_a_bad_request_has_an_answer_that_says_what_is_allowed(on_soil, frames, words):
    *_, last = on_soil.service.answer(frames)
    message = layout.read(last)
    assert message.kind == layout.REFUSED
    assert words in message.body.decode()


def test_contacts_are_refused_where_the_ground_is_the_configs():
    served = ServedProcess(outside=False)
    try:
        client = served.client
        client.command([0.5] * 4)
        for _ in range(3):
            now = client.step(STEP_NS)
        assert same(now, built_in(served.rig, 3))
        with pytest.raises(StepError, match="allowed: none, because the ground is the config's"):
            client.step(STEP_NS, [])
    finally:
        served.close()


def test_other_computers_need_keys(on_soil):
    with pytest.raises(
        ValueError, match=r"--endpoint tcp://0.0.0.0:0: other computers reach it, needed: operator.keys"
    ):
        StepSocket(on_soil.service, "tcp://0.0.0.0:0")


def test_with_keys_a_client_whose_key_is_allowed_is_served_and_others_get_no_answer(on_soil, tmp_path):
    (public, secret), (own_public, own) = (new_keys(name, tmp_path / "keys") for name in ("service", "anna"))
    clients = tmp_path / "clients"
    clients.mkdir(mode=0o700)
    (clients / own_public.name).write_bytes(own_public.read_bytes())
    keys, stop = KeysConfig(secret=str(secret), clients=str(clients)), SimpleNamespace(ending=False)
    with StepSocket(on_soil.service, "tcp://127.0.0.1:*", keys) as socket:
        thread = threading.Thread(target=socket.serve, args=(stop,))
        thread.start()
        try:
            with StepClient(socket.endpoint, keys=(own, public)) as client:
                assert client.reset().t_ns == 0
            with pytest.raises(StepError, match="no answer"):
                StepClient(socket.endpoint, answer_s=0.3)
            with pytest.raises(StepError, match="no answer"):
                StepClient(socket.endpoint, keys=(secret, public), answer_s=0.3)
        finally:
            stop.ending = True
            thread.join()


def test_an_endpoint_in_use_is_refused(on_soil):
    with pytest.raises(ValueError, match="Address already in use; allowed: tcp://ADDRESS:PORT"):
        StepSocket(on_soil.service, on_soil.endpoint)


@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        (["ground.kind=rigid"], "ground.kind: found rigid; allowed: soil or scan or firm; set it"),
        (["ground.kind=firm", "ground.friction_holds=true"], "ground.friction_holds: found True; allowed: false: no"),
    ],
)
def test_ground_that_takes_no_contacts_is_refused(overrides, found):
    with pytest.raises(ConfigError, match=rf"(?s)contacts from outside of config.*{found}"):
        StepService(Rig(load_config("sim_impact", overrides)), outside=True)


def libzmq():
    """Path of a libzmq: that of the system, or the one that comes with pyzmq."""
    if found := ctypes.util.find_library("zmq"):
        return found
    folder = Path(zmq.__file__).parent.parent / "pyzmq.libs"
    return next((str(file) for file in sorted(folder.glob("libzmq*.so*"))), None)


def test_the_client_in_c_moves_the_rover_as_the_one_in_python_does(on_soil, tmp_path):
    compiler, library = shutil.which("cc"), libzmq()
    if compiler is None or library is None:
        pytest.skip("no C compiler cc" if compiler is None else "no libzmq: neither of the system nor with pyzmq")
    program = tmp_path / "step_client"
    linked = [library, f"-Wl,-rpath,{Path(library).parent}"] if os.path.isabs(library) else [f"-l:{library}"]
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", str(C_CLIENT), *linked, "-lm", "-o", str(program)]
    subprocess.run([compiler, *options], check=True, timeout=300)
    done = subprocess.run(
        [str(program), on_soil.endpoint, "20"], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    client = on_soil.client
    now = client.reset()
    client.command([0.5] * 4)
    for _ in range(20):
        now = client.step(1_000_000, level_ground(client, now))
    assert [float(number) for number in lines["q"].split()] == now.q.tolist()
    assert float(lines["work_of_drives_J"]) == client.energy()["drives"]


def test_the_command_serves_until_it_is_asked_to_end():
    command = [sys.executable, "-m", "hil.cli", "serve", "sim_juno", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            endpoint = layout_of(process.stdout.readline())
            with StepClient(endpoint) as client:
                assert client.step(STEP_NS).t_ns == STEP_NS
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == 0
        finally:
            process.kill()


def layout_of(line):
    import json

    where = json.loads(line)
    assert set(where) == {"step_endpoint", "contacts", "rig"}
    return where["step_endpoint"]
