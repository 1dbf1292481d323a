"""Gas in the cylinders against the written-out differential equation, closed forms and conservation of mass."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hil.config import load_config
from hil.config.cylinder_parameters import cylinder, linkage, pneumatics
from models.actuators.compressible import Pneumatics, check_pneumatics, fill_with_gas, make_gas
from models.actuators.pneumatic import make_cylinders, mount_cylinders
from models.rover import rcp

ROVER = rcp()
GIVEN = load_config("sim_impact", ["cylinders.model=compressible", "cylinders.linkage={}"]).cylinders
RIG, PINS, USUAL = cylinder(GIVEN), linkage(GIVEN), pneumatics(GIVEN)
MOUNTS = mount_cylinders(ROVER, ("left_bogie", "right_bogie"), RIG, PINS)
SUPPLY, AIR = 207e3, 101325.0  # Pa, gauge and absolute
R, T = 296.8, 293.15  # nitrogen [J/(kg K)], [K]
DENSITY = 1e5 / (R * T)  # of ISO 6358's reference
AT_ONCE = USUAL._replace(on_time=0.0, off_time=0.0)
EXTEND, RETRACT = 0, 1


class Bench:
    """Two cylinders in mid-stroke, their joints where the test puts them."""

    def __init__(self, constants: Pneumatics, supply: float = SUPPLY, angle: float = 0.0) -> None:
        self.state = make_cylinders(2, supply)
        self.q = ROVER.neutral()
        self.turn(angle)
        self.gas = make_gas(constants, supply, MOUNTS, self.state, self.q[MOUNTS.speed + 1])

    def turn(self, angle: float) -> None:
        self.q[MOUNTS.speed + 1] = angle

    def run(self, seconds: float, dt: float = 1e-4):
        """Gauge pressure (steps, 2) [Pa] of the port cylinder's chambers."""
        rows = []
        for _ in range(round(seconds / dt)):
            fill_with_gas(self.gas, MOUNTS, self.state, self.q, dt)
            rows.append(self.state.pressure[0].copy())
        return np.array(rows)


def volume(constants: Pneumatics, length: float = 0.33) -> float:
    """Of the extending chamber and its line [m^3], the pins so far apart [m]."""
    return constants.dead_volume + math.pi / 4 * 38.1e-3**2 * (length - 0.254)


def psi(ratio: float, critical: float) -> float:
    return 1.0 if ratio <= critical else math.sqrt(max(1.0 - ((ratio - critical) / (1.0 - critical)) ** 2, 0.0))


@pytest.mark.parametrize("exponent", [1.0, 1.2, 1.4])
@pytest.mark.parametrize("begin_Pa", [0.0, SUPPLY])
def test_a_chamber_fills_and_vents_as_the_differential_equation_of_its_pressure(exponent, begin_Pa):
    """dp/dt = n/V R T_chamber dm/dt with the flow of ISO 6358; T follows the polytrope from the atmosphere's."""
    constants = AT_ONCE._replace(exponent=exponent)
    bench, fills = Bench(constants), begin_Pa == 0.0
    bench.gas.open[:, EXTEND] = bench.state.valve[:, EXTEND] = 1.0 if fills else 0.0
    if not fills:
        bench.gas.mass[:, EXTEND] *= ((begin_Pa + AIR) / AIR) ** (1.0 / exponent)

    def rate(_, p):
        temperature = T * (p[0] / AIR) ** ((exponent - 1.0) / exponent)
        if fills:
            flow = constants.conductance * (SUPPLY + AIR) * DENSITY * psi(p[0] / (SUPPLY + AIR), 0.3)
        else:
            flow = -constants.exhaust * p[0] * DENSITY * math.sqrt(T / temperature) * psi(AIR / p[0], 0.3)
        return [exponent * R * temperature / volume(constants) * flow]

    times = np.arange(1, 801) * 1e-4
    wanted = solve_ivp(rate, (0.0, 0.08), [begin_Pa + AIR], t_eval=times, max_step=2e-4, rtol=1e-8).y[0] - AIR
    found = bench.run(0.08)[:, EXTEND]
    assert abs(found[400] - begin_Pa) > 0.4 * SUPPLY
    assert found == pytest.approx(wanted, abs=1e-3 * SUPPLY)


def test_choked_filling_is_linear_in_time():
    """Isothermal, below the critical ratio: p = p_a + C rho_0 p_s R T t / V."""
    constants, supply = AT_ONCE._replace(exponent=1.0), 900e3
    bench = Bench(constants, supply)
    bench.gas.open[:, EXTEND] = bench.state.valve[:, EXTEND] = 1.0
    slope = constants.conductance * DENSITY * (supply + AIR) * R * T / volume(constants)
    until = (0.3 * (supply + AIR) - AIR) / slope
    found = bench.run(until)[:, EXTEND]
    assert len(found) > 150
    assert found == pytest.approx(slope * 1e-4 * np.arange(1, len(found) + 1), rel=1e-9)


def test_choked_venting_is_an_exponential():
    constants = AT_ONCE._replace(exponent=1.0)
    bench = Bench(constants)
    bench.gas.mass[:, EXTEND] *= 10.0
    time = volume(constants) / (constants.exhaust * DENSITY * R * T)
    found = bench.run(time)[:, EXTEND] + AIR
    assert found[-1] > AIR / 0.3  # choked to the end
    wanted = 10.0 * AIR * np.exp(-1e-4 * np.arange(1, len(found) + 1) / time)
    assert found == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize("exponent", [1.0, 1.4])
def test_a_closed_chamber_keeps_its_mass_and_gives_back_the_work_of_compressing_it(exponent):
    sealed = AT_ONCE._replace(conductance=1e-30, exhaust=1e-30, exponent=exponent)
    bench = Bench(sealed)
    bench.gas.mass[:] *= 2.0
    mass = bench.gas.mass.copy()
    work, last = [0.0], None
    angles = 0.2 * np.sin(np.linspace(0.0, 2.0 * math.pi, 2001))
    for angle in angles:
        bench.turn(angle)
        pressure = bench.run(1e-4)[0] + AIR
        length = math.hypot(0.25 * math.cos(angle) - 0.25, -0.25 * math.sin(angle) - 0.33)
        space = volume(sealed, length)
        assert pressure[EXTEND] * space**exponent == pytest.approx(AIR * (2.0 * volume(sealed)) ** exponent, rel=1e-9)
        if last is not None:
            work.append(work[-1] + 0.5 * (pressure[EXTEND] + last[0]) * (space - last[1]))
        last = pressure[EXTEND], space
    assert bench.gas.mass == pytest.approx(mass, rel=1e-12)
    assert abs(work[-1]) < 1e-6 * max(map(abs, work))


def test_what_leaves_the_bottle_is_in_the_chambers():
    constants = AT_ONCE._replace(bottle_volume=1e-3, bottle_pressure=12.4e6, droop=5e6)
    bench = Bench(constants)
    bench.state.valve[:, EXTEND] = 1.0
    before = bench.gas.mass.sum() + bench.gas.bottle[0]
    bench.run(0.3)
    assert bench.gas.bottle[0] < before
    assert bench.gas.mass.sum() + bench.gas.bottle[0] == pytest.approx(before, rel=1e-12)
    in_bottle = (12.4e6 + AIR) * 1e-3 / (R * T)
    assert in_bottle - bench.gas.bottle[0] == pytest.approx(2 * (bench.gas.mass[0, 0] - bench.gas.mass[0, 1]), rel=0.1)


def test_a_small_bottle_runs_empty_and_its_regulator_droops_under_flow():
    constants = AT_ONCE._replace(bottle_volume=2e-4, bottle_pressure=400e3, droop=5e7)
    bench = Bench(constants)
    outlets = []
    for n in range(40):
        bench.state.valve[:, EXTEND] = float(n % 2 == 0)
        bench.run(0.05)
        outlets.append(bench.gas.outlet[0])
        left = bench.gas.bottle[0] * R * T / 2e-4 - AIR
        assert 0.0 <= bench.gas.outlet[0] <= max(left, 0.0) + 0.3 * SUPPLY
    assert outlets[0] < 0.95 * SUPPLY  # flow is still going
    assert outlets[-1] < 0.3 * SUPPLY
    assert bench.gas.bottle[0] > 0.0


def test_a_valve_switches_after_its_time_and_that_of_the_line_and_not_for_a_shorter_command():
    bench = Bench(USUAL)
    delay = 5e-3 + 2.0 / math.sqrt(1.4 * R * T)
    assert USUAL.on_time == pytest.approx(delay)
    bench.state.valve[0, EXTEND] = 1.0
    pressure = bench.run(0.05)[:, EXTEND]
    first = np.flatnonzero(pressure > 1.0)[0]
    assert first * 1e-4 == pytest.approx(delay, abs=2e-4)
    bench.state.valve[0, EXTEND] = 0.0
    falls = np.flatnonzero(np.diff(bench.run(0.05)[:, EXTEND]) < 0.0)[0]
    assert falls * 1e-4 == pytest.approx(delay, abs=3e-4)
    bench.state.valve[0, RETRACT] = 1.0
    assert not bench.run(0.9 * delay)[:, RETRACT].max() > 1.0
    bench.state.valve[0, RETRACT] = 0.0
    assert not bench.run(0.05)[:, RETRACT].max() > 1.0


def test_a_valve_stays_open_for_its_shortest_time():
    bench = Bench(AT_ONCE._replace(least_on=0.02))
    bench.state.valve[0, EXTEND] = 1.0
    bench.run(0.002)
    bench.state.valve[0, EXTEND] = 0.0
    pressure = bench.run(0.05)[:, EXTEND]
    assert np.argmax(pressure) * 1e-4 == pytest.approx(0.018, abs=3e-4)


def test_without_power_a_moved_cylinder_is_passive():
    """Both ports open, at 1 rad/s: the gas resists with what drives the displaced volume through a port."""
    bench, resists = Bench(USUAL), []
    for n in range(4000):
        bench.turn(0.2 * math.sin(n * 1e-4 / 0.2))
        bench.run(1e-4)
        resists.append(np.abs(bench.state.pressure).max())
    share = 0.25 * RIG.area / (USUAL.exhaust * 1e5)  # of the choked flow: psi of the pressure ratio
    ratio = 0.3 + 0.7 * math.sqrt(1.0 - share**2)
    assert max(resists) == pytest.approx((1.0 - ratio) * AIR, rel=0.15)
    assert max(resists) < SUPPLY / 60.0


@pytest.mark.parametrize("line", [1e-8, 1e-9])
def test_a_chamber_whose_valve_sticks_open_empties_through_its_closed_regulator_like_one_that_vents(line):
    """The conductance is the same, and the regulator closes in 20 ms: 99 % of the way take 0.1 s more at most."""
    emptied_s = []
    for sticks in (True, False):
        bench = Bench(AT_ONCE._replace(conductance=line, exhaust=line))
        bench.state.valve[0, EXTEND] = 1.0
        bench.run(3.0, 1e-3)
        bench.state.supply[0], bench.state.valve[0, EXTEND] = 0.0, float(sticks)
        pressure = bench.run(3.0, 1e-3)[:, EXTEND]
        emptied_s.append(np.argmax(pressure < 0.01 * SUPPLY) * 1e-3)
        assert pressure[-1] < 10.0
    assert emptied_s[1] < emptied_s[0] < emptied_s[1] + 0.1


def test_a_regulator_follows_its_set_pressure_both_ways():
    bench = Bench(AT_ONCE)
    bench.state.valve[:, EXTEND] = 1.0
    bench.run(0.3)
    assert bench.state.pressure[0, EXTEND] == pytest.approx(SUPPLY, rel=1e-3)
    bench.state.supply[:] = 5e4, 1e5
    bench.run(0.5)
    assert bench.state.pressure[:, EXTEND] == pytest.approx((5e4, 1e5), rel=1e-2)
    assert bench.state.pressure[:, RETRACT] == pytest.approx(0.0, abs=1.0)


@pytest.mark.parametrize("dt", [1e-4, 1e-3])
def test_a_tiny_chamber_behind_a_large_valve_neither_overshoots_nor_swings(dt):
    constants = AT_ONCE._replace(dead_volume=1e-7, conductance=1e-6, exhaust=1e-6)
    bench = Bench(constants, angle=math.radians(-15.0))
    for powered in (1.0, 0.0):
        bench.state.valve[0, EXTEND] = powered
        pressure = bench.run(0.05, dt)[:, EXTEND]
        assert (np.diff(pressure) * (1.0 if powered else -1.0) > -1e-6 * SUPPLY).all()
        assert pressure[-1] == pytest.approx(powered * SUPPLY, abs=1e-3 * SUPPLY)


def test_numbers_out_of_range_are_named():
    with pytest.raises(ValueError, match=r"pneumatics: conductance is 0\.0, .*; critical is 1\.0, .*exponent is 0\.9"):
        check_pneumatics(USUAL._replace(conductance=0.0, critical=1.0, exponent=0.9))
