"""Compressible gas in the cylinders' chambers: on-off valves by ISO 6358, lines, regulators and the bottle.

A chamber has a mass of gas m in a volume V; its pressure is polytropic, p = p_a (m R T_a/(p_a V))^n. A valve of sonic
conductance C and critical pressure ratio b passes (ISO 6358-1) C p_1 rho_0 sqrt(T_0/T_1) psi(p_2/p_1), psi(r) = 1 up to
r = b and sqrt(1 - ((r - b)/(1 - b))^2) above. Each chamber has a 3/2 valve: powered it is connected to its regulator,
else, as a chamber without valve, to atmosphere. Both gases count as nitrogen.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.actuators.linkage import Linkage, piston
from models.actuators.pneumatic import CylinderMounts, CylinderState
from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel

ATMOSPHERE = 101325.0  # [Pa]
GAS_CONSTANT = 296.8  # of nitrogen [J/(kg K)]
TEMPERATURE = 293.15  # of supply and surroundings [K], also that of ISO 6358's reference
REFERENCE_DENSITY = 1e5 / (GAS_CONSTANT * TEMPERATURE)  # at ISO 6358's 100 kPa [kg/m^3]
SOUND_SPEED = math.sqrt(1.4 * GAS_CONSTANT * TEMPERATURE)  # [m/s]
# From this pressure ratio on the flow is laminar, in proportion to the difference (ISO 6358-1 has none; numerical).
LAMINAR = 0.999


class Pneumatics(NamedTuple):
    """Valves, lines and supply; all cylinders are alike. Values are assumptions but for the bottle's pressure.

    Attributes:
        conductance: sonic, of valve and line, feeding [m^3/(s Pa)].
        exhaust: the same, open to atmosphere.
        critical: pressure ratio.
        on_time: from the command until gas flows in, line included [s]; a shorter command does nothing.
        off_time: from its end until gas flows out [s].
        least_on: shortest time for which a valve stays open [s].
        dead_volume: of a chamber at its end of the stroke, line included [m^3].
        exponent: polytropic.
        regulator_time: time constant of a regulator's outlet [s].
        bottle_volume: [m^3]; 0: the supply keeps its pressure.
        bottle_pressure: gauge, at the start [Pa].
        droop: the supply falls by this over the mass flow [Pa s/kg].
    """

    conductance: float
    exhaust: float
    critical: float
    on_time: float
    off_time: float
    least_on: float
    dead_volume: float
    exponent: float
    regulator_time: float
    bottle_volume: float = 0.0
    bottle_pressure: float = 0.0
    droop: float = 0.0


def check_pneumatics(pneumatics: Pneumatics) -> None:
    """Raises ValueError with everything that is out of range."""
    above = Range(0.0, math.inf, "", open_low=True)
    allowed = dict.fromkeys(("conductance", "exhaust", "dead_volume", "regulator_time"), above)
    allowed |= {"critical": Range(0.0, 1.0, "", open_high=True), "exponent": Range(1.0, 5.0 / 3.0, "")}
    refuse(
        "pneumatics",
        [
            problem(name, value, allowed.get(name, Range(0.0, math.inf, "")))
            for name, value in pneumatics._asdict().items()
        ],
    )


class Gas(NamedTuple):
    """Compressible gas of a rover's cylinders: constants and state, arrays over [cylinder, (extend, retract) chamber].

    Attributes:
        pneumatics: the constants.
        supply: gauge pressure that the bottle's regulator holds [Pa].
        mass: of gas in each chamber and its line [kg].
        open: 1.0 where a chamber is connected to its regulator.
        since: for how long the command has differed from that [s].
        opened: for how long a valve has been open [s].
        outlet: (cylinders,) gauge pressure of each regulator [Pa].
        flow: (1,) mass flow out of the bottle in the newest step [kg/s].
        bottle: (1,) gas left in the bottle [kg].
    """

    pneumatics: Pneumatics
    supply: float
    mass: FloatArray
    open: FloatArray
    since: FloatArray
    opened: FloatArray
    outlet: FloatArray
    flow: FloatArray
    bottle: FloatArray


def make_gas(
    pneumatics: Pneumatics, supply: float, mounts: CylinderMounts, state: CylinderState, angle: FloatArray
) -> Gas:
    """Gas at atmospheric pressure in every chamber, regulators at their set pressures.

    Args:
        pneumatics: see there.
        supply: gauge pressure of the bottle's regulator [Pa].
        mounts: cylinders with a linkage.
        state: of the cylinders.
        angle: (cylinders,) of their joints [rad].
    """
    pairs = state.pressure.shape
    left = (pneumatics.bottle_pressure + ATMOSPHERE) * pneumatics.bottle_volume / (GAS_CONSTANT * TEMPERATURE)
    mass, opened, since, open_for = (np.zeros(pairs) for _ in range(4))
    gas = Gas(pneumatics, supply, mass, opened, since, open_for, state.supply.copy(), np.zeros(1), np.array([left]))
    assert mounts.linkage is not None
    density = ATMOSPHERE / (GAS_CONSTANT * TEMPERATURE)
    for which in range(pairs[0]):
        extension = piston(mounts.linkage, float(angle[which]))[0]
        for chamber in range(2):
            gas.mass[which, chamber] = density * chamber_volume(pneumatics, mounts, which, chamber, extension)
    return gas


@kernel
def chamber_volume(pneumatics: Pneumatics, mounts: CylinderMounts, which: int, chamber: int, extension: float) -> float:
    """Volume of a chamber and its line [m^3], at an extension [m]; the piston stops at its ends."""
    stroke = _stroke(mounts.linkage)
    travel = min(max(extension, 0.0), stroke)
    if chamber == 0:
        return pneumatics.dead_volume + mounts.area[which] * travel
    return pneumatics.dead_volume + mounts.area[which] * mounts.rod_share[which] * (stroke - travel)


@kernel
def _stroke(linkage: Linkage | None) -> float:
    if linkage is not None:
        return linkage.stroke
    return 0.0


@kernel
def chamber_pressure(pneumatics: Pneumatics, mass: float, volume: float) -> float:
    """Absolute pressure [Pa] of a mass of gas [kg] in a volume [m^3]."""
    relative = mass * GAS_CONSTANT * TEMPERATURE / (ATMOSPHERE * volume)
    return ATMOSPHERE * relative**pneumatics.exponent


@kernel
def valve_flow(critical: float, upstream: float, downstream: float) -> tuple[float, float, float]:
    """Flow of a valve over C rho_0 [Pa], and its derivatives over upstream and downstream pressure (absolute [Pa])."""
    ratio = downstream / upstream
    if ratio <= critical:
        return upstream, 1.0, 0.0
    share = (ratio - critical) / (1.0 - critical)
    if ratio < LAMINAR:
        psi = np.sqrt(1.0 - share * share)
        slope = -share / ((1.0 - critical) * psi)
    else:
        share = (LAMINAR - critical) / (1.0 - critical)
        slope = -np.sqrt(1.0 - share * share) / (1.0 - LAMINAR)
        psi = (ratio - 1.0) * slope
    return upstream * psi, psi - ratio * slope, slope


@kernel
def fill_with_gas(gas: Gas, mounts: CylinderMounts, state: CylinderState, q: FloatArray, dt: float) -> None:
    """Let gas flow for dt [s], each chamber as its valve stands; sets state.pressure.

    The mass is linearly implicit in time: stable however small a chamber is.

    Args:
        gas: in the chambers.
        mounts: cylinders with a linkage.
        state: of the cylinders.
        q: configuration of the rover, over all joints that turn.
        dt: step [s].
    """
    _regulate(gas, state, dt)
    taken = 0.0
    for which in range(mounts.speed.size):
        extension = _extension(mounts.linkage, q[mounts.speed[which] + 1])
        for chamber in range(2):
            _switch(gas, state.valve[which, chamber] > 0.0, which, chamber, dt)
            volume = chamber_volume(gas.pneumatics, mounts, which, chamber, extension)
            if gas.open[which, chamber] > 0.0:
                source, conductance = gas.outlet[which] + ATMOSPHERE, gas.pneumatics.conductance
            else:
                source, conductance = ATMOSPHERE, gas.pneumatics.exhaust
            entered = _flow_in(gas.pneumatics, gas.mass[which, chamber], volume, source, conductance, dt)
            gas.mass[which, chamber] += entered
            if gas.open[which, chamber] > 0.0:
                taken += max(entered, 0.0)  # a regulator relieves to atmosphere, never back into the bottle
            state.pressure[which, chamber] = (
                chamber_pressure(gas.pneumatics, gas.mass[which, chamber], volume) - ATMOSPHERE
            )
    gas.flow[0] = taken / dt
    gas.bottle[0] -= taken


@kernel
def _extension(linkage: Linkage | None, angle: float) -> float:
    if linkage is not None:
        return piston(linkage, angle)[0]
    return 0.0


@kernel
def _flow_in(pneumatics: Pneumatics, mass: float, volume: float, source: float, conductance: float, dt: float) -> float:
    """Mass that flows into a chamber in dt [kg], negative out of it, through a port to a source [Pa, absolute]."""
    pressure, scale = chamber_pressure(pneumatics, mass, volume), conductance * REFERENCE_DENSITY
    if pressure <= source:
        flow, _, slope = valve_flow(pneumatics.critical, source, pressure)
    else:
        scale *= np.sqrt(TEMPERATURE * mass * GAS_CONSTANT / (pressure * volume))
        flow, slope, _ = valve_flow(pneumatics.critical, pressure, source)
        flow, slope = -flow, -slope
    entered = dt * scale * flow / (1.0 - dt * scale * slope * pneumatics.exponent * pressure / mass)
    # a step ends at the source's pressure at most: the flow's slope is infinite there, and a linear step would swing
    most = mass * ((source / pressure) ** (1.0 / pneumatics.exponent) - 1.0)
    return min(entered, most) if flow > 0.0 else max(entered, most)


@kernel
def _switch(gas: Gas, powered: bool, which: int, chamber: int, dt: float) -> None:
    """Move a valve once its command has stood for its switching time."""
    opened = gas.open[which, chamber] > 0.0
    gas.opened[which, chamber] = gas.opened[which, chamber] + dt if opened else 0.0
    gas.since[which, chamber] = gas.since[which, chamber] + dt if powered != opened else 0.0
    if powered == opened:
        return
    time = gas.pneumatics.on_time if powered else gas.pneumatics.off_time
    held = opened and gas.opened[which, chamber] < gas.pneumatics.least_on
    if not held and gas.since[which, chamber] >= time:
        gas.open[which, chamber] = 1.0 if powered else 0.0
        gas.since[which, chamber] = 0.0


@kernel
def _regulate(gas: Gas, state: CylinderState, dt: float) -> None:
    """Let the regulators follow their set pressures, as far as the bottle can feed them."""
    pneumatics, most = gas.pneumatics, gas.supply
    if pneumatics.bottle_volume > 0.0:
        left = gas.bottle[0] * GAS_CONSTANT * TEMPERATURE / pneumatics.bottle_volume - ATMOSPHERE
        most = max(min(most - pneumatics.droop * gas.flow[0], left), 0.0)
    share = 1.0 - np.exp(-dt / pneumatics.regulator_time)
    for which in range(gas.outlet.size):
        gas.outlet[which] += (min(state.supply[which], most) - gas.outlet[which]) * share
