"""Petersen 2012 (6.3): Juno over a mound, and two simulations that follow the experiment by PID on the motors' torque.

There is no published scan, prism or torque, so the experiment is a simulated one: another rover of the same kind
(masses and soil as a spread makes them, ground without the scanner's noise), driven by 45 % throttle. The two
simulations know the scan and the nominal soil only. The page's table and its picture are written.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.polynomial import Polynomial

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.config.scan.grid import mound_height
from models.actuators.drive import Motor
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.plant.parameters import OFF, RigParameters, Spread
from models.rover.rover import Rover
from models.terrain import make_height_map
from models.vehicle import Scene, VehicleModel, VehicleState, run_bound

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))
from outputs import outputs

PAGE, NAME, PICTURE = "docs/reproduce/uneven-ground.md", "petersen_terrain", "reproduce_terrain.png"
HEAD = ("quoted (6.3)", "ours", "difference", "why")
SEED, LENGTH_S, TICK_S, STEP_S = 1, 26.0, 0.01, 2e-4
SAMPLES = round(LENGTH_S / TICK_S)
THROTTLE = 0.45
# Assumptions: a motor behind the low gear, 0.37 m/s at the rim without load; and a prism behind the chassis' middle.
MOTOR = Motor(stall_torque=600.0, no_load_speed=2.9)
PRISM_M = (-0.4, 0.0, 1.0)
# Standard deviations: of masses, of soil, of the prism's speed [m/s], of the spins [rad/s].
MASS, SOIL, SPEED_NOISE_MPS, SPIN_NOISE = 0.02, 0.1, 0.01, 0.005
DEGREE = 10
STARTS_S = 1.0  # the simulations start in motion, as the experiment is after so long
SIDES = ("left", "right")


class Gains(NamedTuple):
    """A PID on torque: of spin in N m/(rad/s), of speed in N/(m/s) times the wheels' radius."""

    proportional: float
    integral: float
    derivative: float
    most: float


OF_SPIN, OF_SPEED = Gains(40.0, 600.0, 0.05, 800.0), Gains(1500.0, 2500.0, 10.0, 800.0)


class Drive(NamedTuple):
    """A drive, sampled every `TICK_S`; of the prism and of both sides.

    Attributes:
        way: (samples,) of the main body, world x [m].
        height: of the main body [m].
        speed: of the main body, along itself [m/s].
        prism: speed of the prism [m/s].
        spin: (samples, 2) of the left and of the right wheels [rad/s].
        torque: (samples, 2) of the motor of each side [N m].
    """

    way: FloatArray
    height: FloatArray
    speed: FloatArray
    prism: FloatArray
    spin: FloatArray
    torque: FloatArray


class Juno:
    """A rover on its ground, and where its sides' motors are in the models' arrays."""

    def __init__(self, rig: RigParameters, duty: float | None) -> None:
        rover, vehicle, state = rig.build()
        if duty is None:
            vehicle = vehicle._replace(drive=OFF)
        self.rover: Rover = rover
        self.vehicle: VehicleModel = vehicle
        self.state: VehicleState = state
        state.drives.cut[:] = 0.0
        self.motors = [int(wheel) for wheel in vehicle.chain.motor_wheel]
        names = list(rover.wheel_names)
        assert [names[wheel].rsplit("_", 1)[1] for wheel in self.motors] == list(SIDES)
        self.speeds = [5 + int(vehicle.chain.wheel_body[wheel]) for wheel in self.motors]
        self._bound, self._steps = BoundArguments(Scene(vehicle, state)), round(TICK_S / STEP_S)

    def advance(self) -> None:
        """By one tick."""
        run_bound(self._bound, self._steps, STEP_S)

    def spins(self) -> FloatArray:
        """Of both sides [rad/s]."""
        return np.array([self.state.v[one] for one in self.speeds])

    def prism_speed(self) -> float:
        """Size of the prism's velocity [m/s]."""
        return float(np.linalg.norm(self.state.v[:3] + np.cross(self.state.v[3:6], PRISM_M)))


def experiment() -> Drive:
    """The drive that the simulations follow: 45 % throttle, from rest."""
    nominal = rig()
    rng = np.random.default_rng(SEED)
    spread = Spread(mass=MASS, soil=SOIL, legs=0.0, sensitivity=0.0, start_m=0.0)
    map_ = nominal.ground.relief
    assert map_ is not None
    # the ground itself: without the scanner's noise and holes, at the nodes of the map
    x: FloatArray = map_.x + map_.spacing * np.arange(map_.height.shape[0], dtype=np.float64)
    y: FloatArray = map_.y + map_.spacing * np.arange(map_.height.shape[1], dtype=np.float64)
    height = mound_height(x[:, None], y[None], SEED)
    true = make_height_map(height - height_at_start(), map_.x, map_.y, map_.spacing)
    varied = nominal.perturbed(spread, rng)
    varied = replace(varied, ground=replace(varied.ground, relief=true), drive=nominal.drive._replace(motor=MOTOR))
    juno = Juno(varied, THROTTLE)
    juno.state.drives.duty[:] = THROTTLE
    return drive(juno, lambda _: juno.state.drives.torque[juno.motors])


def rig() -> RigParameters:
    """The nominal rig of sim_scan without friction in its gears: torque is that at the axles."""
    nominal = nominal_rig(load_config("sim_scan"))
    return replace(nominal, drive=nominal.drive._replace(gear_friction=0.0, torque_limit=800.0))


def height_at_start() -> float:
    """Of the ground under the start [m], which is height 0 of a map."""
    return float(mound_height(np.zeros(1), np.zeros(1), SEED)[0])


def drive(juno: Juno, control: Any, start: tuple[float, FloatArray] | None = None) -> Drive:
    """Drive for LENGTH_S.

    Args:
        juno: settled.
        control: called with the sample's number; gives the torque of both sides, which it has set.
        start: speed [m/s] and spins [rad/s] at the start; None: at rest.
    """
    if start is not None:
        juno.state.v[0] = start[0]
        for wheel, body in enumerate(juno.vehicle.chain.wheel_body):
            juno.state.v[5 + int(body)] = start[1][wheel % 2]
    columns: list[list[Any]] = [[] for _ in Drive._fields]
    for sample in range(SAMPLES):
        torque = control(sample)
        juno.advance()
        now = (
            juno.state.q[0], juno.state.q[2], juno.state.v[0], juno.prism_speed(), juno.spins(), np.array(torque)
        )  # fmt: skip
        for column, value in zip(columns, now, strict=True):
            column.append(value)
    return Drive(*(np.array(column) for column in columns))


class Pid:
    """A PID of one value, whose integral begins with a torque and stands still at the limit."""

    def __init__(self, gains: Gains, begin: float) -> None:
        self._gains, self._sum, self._last = gains, begin, math.nan

    def __call__(self, error: float, measured: float) -> float:
        """The output for an error, and for the measured value itself, whose rate it damps."""
        gains = self._gains
        rate = 0.0 if math.isnan(self._last) else (measured - self._last) / TICK_S
        self._last = measured
        wished = gains.proportional * error + self._sum - gains.derivative * rate
        out = min(max(wished, -gains.most), gains.most)
        if out == wished:
            self._sum += gains.integral * error * TICK_S
        return out


def following_spin(measured: FloatArray, torque: float) -> Drive:
    """(A): the torque of each side, which begins with this one [N m], follows the measured spin of that side."""
    juno, pids = Juno(rig(), None), [Pid(OF_SPIN, torque) for _ in SIDES]

    def control(sample: int) -> FloatArray:
        spins = juno.spins()
        torque = np.array(
            [pid(wanted - spin, spin) for pid, wanted, spin in zip(pids, measured[sample], spins, strict=True)]
        )
        juno.state.torque[juno.speeds] = torque
        return torque

    return drive(juno, control, started(measured))


def following_speed(wanted: FloatArray, spin: FloatArray, torque: float) -> Drive:
    """(B): one torque for both sides, which begins with this one [N m], follows a forward speed."""
    juno, pid = Juno(rig(), None), Pid(OF_SPEED, torque)

    def control(sample: int) -> FloatArray:
        speed = float(juno.state.v[0])
        torque = np.full(len(SIDES), pid(wanted[sample] - speed, speed))
        juno.state.torque[juno.speeds] = torque
        return torque

    return drive(juno, control, started(spin))


def started(spin: FloatArray) -> tuple[float, FloatArray]:
    """Speed and spins with which a simulation starts: wheels as in the experiment after STARTS_S, half of it slip."""
    spins = spin[round(STARTS_S / TICK_S)]
    return 0.5 * float(spins.mean()) * 0.2794, spins


def measured_of(truth: Drive) -> tuple[FloatArray, FloatArray]:
    """What is measured: spins (samples, 2), and the forward speed as a polynomial of degree 10 (Fig. 6.18)."""
    rng = np.random.default_rng([SEED, 7])
    spin = truth.spin + SPIN_NOISE * rng.standard_normal(truth.spin.shape)
    t = TICK_S * np.arange(SAMPLES)
    speed = truth.speed + SPEED_NOISE_MPS * rng.standard_normal(SAMPLES)
    return spin, Polynomial.fit(t, speed, DEGREE)(t)


def smooth(values: FloatArray, over_s: float = 0.5) -> FloatArray:
    """Moving mean along the first axis."""
    count = round(over_s / TICK_S)
    kernel = np.ones(count) / count
    return np.apply_along_axis(np.convolve, 0, values, kernel, "same")


class Numbers(NamedTuple):
    """What the table has of a simulation beside the experiment, from 3 s on.

    Attributes:
        way: difference at the end [m].
        speed: root mean square of the difference [m/s].
        spin: likewise [rad/s].
        level: mean torque of a side, over the experiment's, less 1.
        rms: of the difference of a side's torque, over the experiment's mean.
        profile: correlation of a side's torque with the experiment's.
        prism_top: root mean square of the difference of the prism's speed, within 0.1 m below the top [m/s].
        prism_else: likewise elsewhere.
    """

    way: float
    speed: float
    spin: float
    level: float
    rms: float
    profile: float
    prism_top: float
    prism_else: float


def numbers(one: Drive, truth: Drive) -> Numbers:
    """Of a simulation."""
    late = slice(round(3.0 / TICK_S), -round(0.5 / TICK_S))
    a, b = smooth(one.torque)[late], smooth(truth.torque)[late]
    top = truth.height[late] > truth.height.max() - 0.1
    prism = (smooth(one.prism[:, None]) - smooth(truth.prism[:, None]))[late, 0]

    def rms(values: FloatArray) -> float:
        return float(np.sqrt(np.mean(values**2)))

    return Numbers(
        way=float(one.way[-1] - truth.way[-1]),
        speed=rms((one.speed - truth.speed)[late]),
        spin=rms((one.spin - truth.spin)[late]),
        level=float(a.mean() / b.mean() - 1.0),
        rms=rms(a - b) / float(b.mean()),
        profile=float(np.mean([np.corrcoef(a[:, side], b[:, side])[0, 1] for side in range(2)])),
        prism_top=rms(prism[top]),
        prism_else=rms(prism[~top]),
    )


def draw(truth: Drive, spin: Drive, speed: Drive, wanted: FloatArray) -> Figure:
    """Way, speed, spins, torques and the prism's speed over time; the experiment is grey."""
    figure = Figure((11.0, 8.0))
    panels = figure.subplots(3, 2, sharex=True).ravel()
    t = TICK_S * np.arange(SAMPLES)
    whole = slice(25, -25)  # where the moving mean has all its samples
    shown = (
        (truth, "#999999", "experiment"),
        (spin, "#004488", "(A) follows spin"),
        (speed, "#bb5566", "(B) follows speed"),
    )
    for one, colour, label in shown:
        style = {"color": colour, "label": label, "linewidth": 2.5 if one is truth else 1.2}
        panels[0].plot(t, one.way, **style)
        panels[1].plot(t[whole], smooth(one.speed[:, None])[whole], **style)
        panels[5].plot(t[whole], smooth(one.prism[:, None])[whole], **style)
        panels[2].plot(t, one.spin[:, 0], **style)
        panels[3].plot(t[whole], smooth(one.torque)[whole, 0], **style)
        panels[4].plot(t[whole], smooth(one.torque)[whole, 1], **style)
    panels[1].plot(t, wanted, color="black", linewidth=0.8, linestyle="dashed", label="polynomial of degree 10")
    names = (
        "way [m]",
        "forward speed [m/s]",
        "spin, left [rad/s]",
        "torque, left [N m]",
        "torque, right [N m]",
        "prism [m/s]",
    )
    for panel, name in zip(panels, names, strict=True):
        panel.set_ylabel(name)
        panel.grid(alpha=0.3)
    for panel in panels[4:]:
        panel.set_xlabel("time [s]")
    panels[1].legend(fontsize=8)
    figure.tight_layout()
    return figure


def table(a: Numbers, b: Numbers, truth: Drive, first: float) -> list[tuple[str, ...]]:
    """Rows: quoted, ours, difference, why; `first` is the speed at the start, over that of the experiment [m/s]."""
    apart = float(np.abs(smooth(truth.torque[:, :1] - truth.torque[:, 1:])[300:]).max())
    level, spin = float(truth.torque[300:].mean()), truth.spin[300:].mean()
    return [
        (
            "the simulated rover starts in motion, the real one at rest",
            f"{first:+.3f} m/s in the first 10 ms",
            "none",
            "made so: it settles, then has the wheels' speed",
        ),
        (
            "A: speed fluctuates about the measured one, position agrees",
            f"speed to {a.speed:.3f} m/s, distance {a.way:+.2f} m after {truth.way[-1]:.1f} m",
            "it lags steadily",
            "the simulation has the nominal soil: at one spin, slip differs, and the lag adds up",
        ),
        ("A: spins of both sides match", f"to {a.spin:.3f} rad/s of {spin:.2f}", "none", "the controlled value"),
        (
            "A: torques of both sides mostly agree",
            f"mean {a.level:+.1%}, RMS {a.rms:.1%}",
            "none",
            "soil and masses of another rover",
        ),
        (
            "torque of left and right",
            f"at most {apart:.0f} of {level:.0f} N m apart",
            "not quoted",
            "the mound lies 0.1 m to port of the path",
        ),
        (
            "B: the level of the torque is slightly better",
            f"mean {b.level:+.1%}",
            "none",
            "a rover that is as far up the mound needs the torque of that place",
        ),
        (
            "B: the profile is worse than A's",
            f"correlation {b.profile:.2f}, A {a.profile:.2f}",
            "opposite",
            "his causes, clocks and a scan that do not fit, are not in ours; A's lag shifts its profile",
        ),
        (
            "B: the prism's speed departs near the top",
            f"{1e3 * b.prism_top:.1f} mm/s within 0.1 m of the top, {1e3 * b.prism_else:.1f} elsewhere",
            "none",
            "the scan's noise moves the top; the body pitches there, and the prism is 1 m up",
        ),
        (
            "B: follows the polynomial tightly",
            f"to {1e3 * b.speed:.1f} mm/s of the true speed",
            "none",
            "the controlled value",
        ),
    ]


def main() -> None:
    """Write the table and the picture."""
    out = outputs(__doc__)
    truth = experiment()
    spin, wanted = measured_of(truth)
    begin = float(truth.torque[round(STARTS_S / TICK_S)].mean())
    a_drive, b_drive = following_spin(spin, begin), following_speed(wanted, spin, begin)
    first = float(a_drive.speed[0] - truth.speed[0])
    out.table(PAGE, NAME, HEAD, table(numbers(a_drive, truth), numbers(b_drive, truth), truth, first))
    out.picture(draw(truth, a_drive, b_drive, wanted), PICTURE, dpi=90)


if __name__ == "__main__":
    main()
