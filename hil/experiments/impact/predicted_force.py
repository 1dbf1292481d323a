"""The force of an impact as predicted before arming, and how the drives are released."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.config import Config
from hil.config.cylinder_parameters import cut_delay
from hil.config.rig import Rig
from hil.config.schema.sensors import DaqConfig
from hil.config.schema.trial import TrialConfig
from hil.residuals.table import spring_peak_N
from models.contact.obstacle import Obstacle
from models.impact import effective_kinetic_energy
from models.rover.rover import Rover
from models.sensors.piezo import shares_of
from models.sensors.rear_frame import frame_share

# Which random numbers of a seed: the simulated rig has 0 and 1 (hil.simulator.simulated_rig).
_STREAM = 2


def operator_delay_s(trial: TrialConfig, seed: int) -> float:
    """How late the operator of this run releases the joystick [s], by the seed of the run.

    Lognormal with mean `trial.release_delay_s` and standard deviation `trial.release_spread_s`: a reaction is never
    early, and now and then it is very late.
    """
    mean, spread = trial.release_delay_s, trial.release_spread_s
    variance = math.log1p((spread / mean) ** 2)
    drawn = np.random.default_rng([seed, _STREAM]).standard_normal()
    return mean * math.exp(math.sqrt(variance) * float(drawn) - 0.5 * variance)


class Release:
    """The release of one run: a pure function of section, seed and what the sensors recorded.

    automatic: in the tick in which the impact is known. operator: MacMahon 2016, 6.2.4, who releases a joystick upon
    impact. timed: MacMahon 2016, D.2, where the wheels are powered for the same time in every trial.
    """

    def __init__(self, trial: TrialConfig, seed: int) -> None:
        self.kind = trial.release
        self._delay_ns = round(operator_delay_s(trial, seed) * 1e9) if self.kind == "operator" else 0
        self._drive_ns = round(trial.drive_time_s * 1e9)

    def due_ns(self, began_ns: int, impact_ns: int | None) -> int | None:
        """When the drives are to be cut [ns]; None: not known yet."""
        if self.kind == "timed":
            return began_ns + self._drive_ns
        return None if impact_ns is None else impact_ns + self._delay_ns


# A stop of unknown length takes at most so long: then a dead-man would cut [ms].
UNKNOWN_STOP_MS = 20.0
# Ground that does not give way holds the wheels that the impact pushes into it (MacMahon 2016, 5.4).
HARD_GROUND = ("firm", "rigid", "nonsmooth")
# For masses, stiffnesses and sensors that are not quite those of the config, and for what this estimate leaves out.
MARGIN = 1.15


class _PredictedForce(NamedTuple):
    """An impact that has not happened yet."""

    energy_J: float  #: T_c of both front wheels [J]
    delay_s: float  #: from the touch to the cut at worst [s]; infinity: nothing of the impact cuts the drives
    blow_N: float  #: peak on one wheel if the drives were cut at the touch [N], normal to the plate
    wheel_N: float  #: peak on one wheel with the push of the drives until they are cut [N]
    sensor_N: tuple[float, ...]  #: (channels,) largest force on each sensor [N]


def predicted_force(rig: Rig) -> _PredictedForce:
    """The largest force on a front wheel and on each sensor.

    The blow is that of a mass on the spring of contact and leg, F = k x^p: it spends T_c (MacMahon 2016 (3.27)) of both
    wheels, half on each, or T_c of one wheel if that hits alone. Ground that does not give way can add its constraints
    (5.4), with which it spends the whole kinetic energy at most. Until they are cut the drives go on at constant speed,
    which presses the wheel v_n t further into a spring of stiffness K: the peak is hypot(blow, K v_n t). They push with
    no more than the ground's grip, so that it is at most the blow and that push added.

    Raises ValueError: the rig has no obstacle, or no force sensors.
    """
    config, obstacle = rig.config, rig.nominal.obstacle
    if obstacle is None:
        raise ValueError(f"experiment {config.experiment}: it has no obstacle, so that there is no impact to predict")
    rover, _, _ = rig.nominal.held.assemble()
    angle, speed_mps = obstacle.angle, config.trial.speed_mps
    approach_mps = speed_mps * math.sin(angle)
    pair_J, alone_J = _energies(rover, angle, speed_mps)
    spent_J = max(pair_J, 2.0 * alone_J)
    if config.ground.kind in HARD_GROUND:
        spent_J = 0.5 * rover.mass * speed_mps**2
    blow_N = spring_peak_N(obstacle, 0.5 * spent_J)
    stiffness = blow_N**2 / spent_J  # of a linear spring with that peak
    delay_s = _delay_s(config, stiffness * approach_mps)
    pushed_N = stiffness * approach_mps * delay_s
    wheel_N = MARGIN * min(math.hypot(blow_N, pushed_N), blow_N + _push_N(rig, obstacle, rover))
    return _PredictedForce(
        pair_J, delay_s, blow_N, wheel_N, on_sensors(config.daq, config.wheel_radius_m, angle, wheel_N)
    )


def _energies(rover: Rover, angle: float, speed_mps: float) -> tuple[float, float]:
    """T_c [J] of both front wheels at once, and of one of them alone."""
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = speed_mps
    mass, rows = rover.mass_matrix(q), rover.impact_jacobian(q, angle)
    alone_J = max(effective_kinetic_energy(mass, row[None], v) for row in rows)
    return effective_kinetic_energy(mass, rows, v), alone_J


def _delay_s(config: Config, rise_Nps: float) -> float:
    """From the touch to the cut, at worst [s]."""
    if config.trial.release == "timed":
        return math.inf
    parts = cut_delay(config)
    noticed_s = 1e-3 * (UNKNOWN_STOP_MS if parts is None else sum(part.ms for part in parts))
    noticed_s += config.detector.threshold_N / rise_Nps
    return noticed_s + (operator_delay_s(config.trial, config.seed) if config.trial.release == "operator" else 0.0)


def _push_N(rig: Rig, obstacle: Obstacle, rover: Rover) -> float:
    """Half of the plate's normal force that holds back all driven wheels at the end of their grip [N].

    With the normal force N of the plate and its friction mu N, which lifts the front wheels, along and up:

        N (sin beta - mu cos beta) = g (W - N (cos beta + mu sin beta)) - D,

    W the weight across the ground, g the grip of the ground, its shear limit or friction, and D the pull of the drawbar
    and of the weight down a slope. The drives' torque limits the push as well.
    """
    ground, soil, wheels = rig.config.ground, rig.config.soil, rover.tree.wheels
    if ground.glides:
        return 0.0
    pitch = rig.nominal.ground.pitch
    across_N = rig.weight_N * math.cos(pitch)
    back_N = rig.weight_N * math.sin(pitch) - rig.nominal.drawbar.force[0]
    motors_N = rig.config.drives.largest_torque_Nm * sum(1.0 / wheel.radius for wheel in wheels)
    grip = {
        "soil": math.tan(math.radians(soil.friction_angle_deg)),
        "firm": ground.friction,
        "nonsmooth": ground.friction,
    }.get(ground.kind, math.inf)
    sine, cosine, mu = math.sin(obstacle.angle), math.cos(obstacle.angle), obstacle.friction
    along, up = max(sine - mu * cosine, 0.0), cosine + mu * sine
    by_grip_N = (across_N - back_N / grip) / (along / grip + up) if grip else 0.0
    cohesion_N = soil.cohesion_Pa * 2.0 * sum(wheel.width * wheel.radius for wheel in wheels)
    if ground.on_soil:
        by_grip_N += cohesion_N / (along + grip * up)
    by_motors_N = (motors_N - back_N) / along if along else math.inf
    return 0.5 * max(min(by_grip_N, by_motors_N), 0.0)


def on_sensors(daq: DaqConfig | None, wheel_radius_m: float, angle: float, wheel_N: float) -> tuple[float, ...]:
    """(channels,) of the force of one wheel, at the point of the plate where a smooth wheel hits [N].

    A part of the load acts through a shield that rings, and so at most twice.
    """
    assert daq is not None
    if daq.layout == "bumper":
        shares = np.ones(len(daq.channels))
    elif daq.layout == "triangle":
        shares = np.abs(shares_of(np.array(daq.places_m), 0.0, 0.0))
    else:
        across = [place for place, _ in daq.places_m]
        lever = np.array([across[1], -across[0]]) / (across[1] - across[0])
        assert daq.link
        shares = np.abs(lever) * frame_share(daq.link, angle, wheel_radius_m, daq.sinkage_m)
    return tuple(((1.0 + daq.ring_share) * wheel_N * shares).tolist())
