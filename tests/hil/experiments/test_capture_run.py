"""A capture from config to record, judged, verified and replayed; momentum from the record by other kinematics."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.film.make import FilmRequest, render
from hil.analysis.film.skeleton import Skeleton
from hil.analysis.film.solids import GROUND, RigSolids
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.experiments.capture.experiment import APPROACH, ARMED, CONTROL, DONE, HOLD, IDLE, LATCH, SETTLE
from hil.experiments.registry import build_cycle
from hil.messages.operator_input import EStop
from hil.messages.stages import Tick
from hil.recording import read_trial
from hil.simulator.simulated_rig import build_simulated_rig

SHORT = (
    "telemetry.endpoint=''", "loop.rate_hz=250", "capture.gap_m=0.1", "capture.latch_s=1.2", "capture.hold_s=0.2",
    "capture.control_s=1", "capture.settle_s=0.1", "capture.most_rate_degps=5", "servos.slides.grapple.rate_mmps=100",
    "servos.slides.grapple.acceleration_mmps2=1000", "capture.speed_mps=0.2",
)  # fmt: skip


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captured")
    config = load_config("sim_capture", SHORT)
    return folder, config, run_experiment(config, folder, lambda _: None).summary


@pytest.mark.slow
def test_a_capture_is_recorded_accepted_verified_replayed_and_filmed(captured):
    folder, _, summary = captured
    assert summary["reasons"] == []
    assert summary["accepted"]
    assert [check for check in verify(folder) if not check.ok] == []
    assert replay(folder).differences == []
    assert (folder / "capture.png").stat().st_size > 10_000
    path, _ = render(folder, FilmRequest("top", "png", at_s=1.0), folder / "one.png")
    assert path.stat().st_size > 5_000


@pytest.mark.slow
def test_the_phases_follow_each_other_in_order(captured):
    ticks = read_trial(captured[0], trusted=True).tick
    order = ticks["state"][np.flatnonzero(np.diff(ticks["state"], prepend=-1))].tolist()
    assert order == [IDLE, ARMED, APPROACH, LATCH, HOLD, CONTROL, SETTLE, DONE]
    joints = ticks["servo_angle_rad"]
    assert np.ptp(joints[ticks["state"] == APPROACH][:, :3], axis=0).max() < 1e-3  # the arm waits
    assert joints[ticks["state"] == APPROACH][:, 3].max() < 1e-3  # with an open grapple
    assert joints[ticks["state"] == CONTROL][:, 3].min() >= 0.09


@pytest.mark.slow
def test_energy_is_lost_never_made_and_twin_and_rig_agree(captured):
    summary = captured[2]
    for of in ("", "_true"):
        assert min(summary[f"energy_lost_parts{of}_J"]) >= 0.0
        assert summary[f"energy_lost{of}_J"] > 0.0
        assert summary[f"latched{of}_s"] < summary[f"held{of}_s"]
    assert summary["seat_contact_s"] == pytest.approx(summary["seat_contact_true_s"], abs=0.1)
    assert summary["capture_energy_J"] > 0.0


@pytest.mark.slow
def test_momentum_is_kept_over_the_capture_by_the_places_of_all_bodies(captured):
    """The centre of mass of arm and payload goes on as before, and the whole turns as before."""
    folder, config, summary = captured
    ticks, tree = read_trial(folder, trusted=True).tick, Rig(config).nominal.rover.tree()
    skeleton = Skeleton(tree, config.layout.turning)
    masses = np.array([body.mass for body in tree.bodies])

    def of(row):
        placed = skeleton.place(row["pose"], row["joint_angle_rad"], ())
        centres = [placed.origin[one.name] + placed.axes[one.name] @ one.com for one in tree.bodies]
        yaws = [np.arctan2(placed.axes[one.name][1, 0], placed.axes[one.name][0, 0]) for one in tree.bodies]
        return np.array(centres), np.array(yaws)

    def momenta(rows):
        (first, turned), (last, turns) = of(rows[0]), of(rows[-1])
        span_s = 1e-9 * (rows["t_ns"][-1] - rows["t_ns"][0])
        linear = masses @ (last - first) / span_s
        spins = sum(one.inertia[2] * w for one, w in zip(tree.bodies, (turns - turned) / span_s, strict=True))
        about = sum(
            np.cross(0.5 * (a + b), m * (b - a) / span_s)[2] for a, b, m in zip(first, last, masses, strict=True)
        )
        return linear[:2], about + spins

    came = config.rover.space_arm.payload_mass_kg * config.capture.speed_mps
    pairs = [ticks[ticks["state"] == state][-26:] for state in (APPROACH, CONTROL)]
    (before, turning), (after, turns) = (momenta(rows) for rows in pairs)
    assert np.linalg.norm(before) == pytest.approx(came, rel=2e-3)  # the arm was at rest
    assert after == pytest.approx(before, abs=5e-3 * came)
    assert turns == pytest.approx(turning, rel=2e-2)
    assert summary["momentum_change"] < 5e-3
    assert summary["momentum_before_Ns"][:2] == pytest.approx(before, abs=5e-3 * came)


class _Nowhere:
    def __getattr__(self, name):
        return lambda *_, **__: None


@pytest.mark.slow
def test_in_safe_the_servos_are_cut_and_what_is_latched_stays_latched():
    from hil.app.run_loop import simulated_rig_io

    rig = Rig(load_config("sim_capture", SHORT))
    simulated = build_simulated_rig(rig)
    devices = simulated_rig_io(rig.layout, simulated)
    devices.open()
    sent = []
    write = devices.command
    devices.command = lambda t_ns, command: (sent.append(command), write(t_ns, command))
    cycle = build_cycle(rig, devices, _Nowhere(), None)
    stopped = None
    for number in range(1, 500):
        t_ns = number * 4_000_000
        simulated.advance(t_ns)
        if stopped is None and simulated.plant.grapple.latched_ns is not None:
            stopped = number
            devices.operator.put(EStop("a test"))
        cycle.run(Tick(number, t_ns, 0, 0))
        if stopped is not None and number > stopped + 100:
            break
    assert stopped is not None
    after = sent[stopped - 1 :]
    assert all(command.safe and command.cut and command.servos_cut for command in after)
    assert len({command.joint_angle_rad for command in after}) == 1
    assert cycle.experiment.over
    assert not cycle.experiment.done
    assert simulated.plant.grapple.latched_ns is not None
    assert simulated.plant.grapple.held_ns is None
    assert simulated.plant.servo_angle[3] == pytest.approx(0.03, abs=0.02)  # its drive stands


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (("rig=simulated_wire",), "rig"),
        (("clock=realtime",), "clock"),
        (("rover.type=rcp", "servos=null", "daq=null"), "rover.type"),
        (("ground.kind=soil",), "ground.kind"),
        (("daq={}",), "daq"),
        (("servos=null",), "servos"),
        (("servos.slides={}",), "servos"),
        (("capture.hold_mm=200",), "capture.hold_mm"),
        (("capture.latch_mm=95",), "capture.hold_mm"),
        (("experiment=drive",), "experiment"),
        (("imu={}",), "imu"),
        (("rover.locks={wrist: 3}",), "rover.locks"),
        (("rover.payload.mass_kg=3",), "rover.payload.mass_kg"),
    ],
)
def test_what_no_capture_can_be_made_with_is_refused_by_its_key(settings, key):
    with pytest.raises(ConfigError) as caught:
        load_config("sim_capture", settings)
    assert key in [one[0] for one in caught.value.problems]


def test_a_rig_without_ground_is_drawn_without_one_and_with_its_payload():
    frames = {solid.frame for solid in RigSolids(Rig(load_config("sim_capture"))).solids()}
    assert "payload" in frames
    assert GROUND not in frames
