"""Energy balance of a run on the simulated rig: its recorded commands, given to the same plant once more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.rig import Rig
from hil.messages.layout import Layout
from hil.simulator.simulated_rig import build_plant
from models.plant import Plant
from models.vehicle.energy import Energies

FloatArray = NDArray[np.float64]


class EnergyBalance(NamedTuple):
    """Energies over the ticks of a run.

    Attributes:
        t_s: (ticks + 1,) times [s]; the first is the start.
        energies: (ticks + 1,) one at each time.
        contact_force_peak: of this calculation [N]; it is the run's own where the commands are all it depends on.
    """

    t_s: FloatArray
    energies: tuple[Energies, ...]
    contact_force_peak: float

    def term(self, name: str) -> FloatArray:
        """One term over time (ticks + 1,) [J]: a field or a sum of `Energies`."""
        return np.array([getattr(item, name) for item in self.energies])

    @property
    def residue(self) -> FloatArray:
        """What the balance leaves unexplained since the start (ticks + 1,) [J]."""
        return np.array([item.residue(self.energies[0]) for item in self.energies])


def energy_balance(config: Config, ticks: NDArray[np.void]) -> EnergyBalance:
    """The energy balance of a run in lockstep, term by term.

    Args:
        config: of the run: rig `simulated`, clock `lockstep`, no delay of the drives.
        ticks: its ticks, rows of the record.

    Raises:
        ValueError: the config is of another kind of run, for which the ticks do not say when a command took effect.
    """
    wrong = [
        None if config.rig == "simulated" else f"rig is {config.rig}, allowed: simulated",
        None if config.clock == "lockstep" else f"clock is {config.clock}, allowed: lockstep",
        None
        if config.links.drives_delay_ms == 0.0
        else f"links.drives_delay_ms is {config.links.drives_delay_ms}, allowed: 0",
    ]
    if any(wrong):
        raise ValueError("energy balance: " + "; ".join(text for text in wrong if text))
    plant = build_plant(Rig(config), accounts=True)
    times, energies = [plant.t_ns], [plant.energies()]
    for row in ticks:
        plant.advance(int(row["t_ns"]))
        command(plant, row, config.layout)
        times.append(plant.t_ns)
        energies.append(plant.energies())
    return EnergyBalance(np.array(times) * 1e-9, tuple(energies), plant.contact_force_peak)


def command(plant: Plant, row: np.void, layout: Layout) -> None:
    """Give the commands of a recorded tick to a plant."""
    duty = tuple(row["duty"].tolist()) if layout.open_loop else ()
    plant.set_drives(tuple(float(speed) for speed in row["set_speed_radps"]), bool(row["cut"]), duty)
    if layout.valves:
        plant.set_valves(tuple(map(tuple, (row["valves"].reshape(-1, 2) > 0).tolist())))
    if layout.regulators:
        plant.set_regulators(row["regulator_Pa"].tolist())
    if layout.servos:
        plant.set_servos(row["set_servo_angle_rad"].tolist(), bool(row["servos_cut"]))
