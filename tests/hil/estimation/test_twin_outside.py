"""The twin says that it has left what its models hold for, with what it is given in a run."""

from __future__ import annotations

import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.estimation.twin import RoverTwin
from hil.messages.stages import Estimate, Samples
from models.validity import LIFTED, LOADS, STOPPED, TILT, WITHIN

MS = 1_000_000


class Pulled:
    """Juno's twin at 0.05 m/s, with a pull on its base."""

    def __init__(self, *pull: float, longest_step_s: float = 1.0) -> None:
        config = load_config("sim_juno")
        self.twin = RoverTwin(nominal_rig(config), longest_step_s=longest_step_s)
        self.speeds = (0.05 / config.wheel_radius_m,) * 4
        self.t_ns, self.pull = 0, pull

    def found(self, seconds: float) -> set[int]:
        codes = set()
        for _ in range(round(seconds * 1000)):
            self.t_ns += MS
            if self.t_ns == 100 * MS and self.pull:
                self.twin._state.pull[:] = self.pull
            drives = DriveSample(0, self.t_ns, self.speeds, -1)
            estimate = Estimate(True, (), (), True, False, None, (), (0.0, 0.0), self.speeds)
            samples = Samples(self.t_ns, (), 0, 0, drives, ValveSample(0, self.t_ns, (), -1))
            codes.add(int(self.twin.predict(samples, estimate).outside))
        return codes


def test_a_rover_that_drives_with_and_without_a_pull_is_within():
    assert Pulled().found(1.0) == {WITHIN}
    assert Pulled(-200.0, 0.0, 0.0, 0.0, -60.0, 0.0).found(1.0) == {WITHIN}


@pytest.mark.parametrize("roll_Nm", [-2500.0, 2500.0])
def test_a_rover_that_is_rolled_over_lifts_wheels(roll_Nm):
    found = Pulled(0.0, 0.0, 0.0, roll_Nm, 0.0, 0.0).found(1.0)
    assert LIFTED in found
    assert found <= {WITHIN, LIFTED, STOPPED, TILT, LOADS}


def test_the_longest_step_of_the_config_bounds_that_of_the_twin():
    coarse, fine = Pulled(), Pulled(longest_step_s=2e-4)
    assert fine.twin._longest_ns == 200_000
    assert coarse.found(0.2) == fine.found(0.2) == {WITHIN}
    assert coarse.twin._state.v[0] == pytest.approx(fine.twin._state.v[0], rel=1e-3)
