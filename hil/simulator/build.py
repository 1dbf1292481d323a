"""Builds a simulated rig from its config, without the loop: only what the processes of the plant need."""

from __future__ import annotations

import numpy as np

from drivers.registry import driver_of
from drivers.sim.devices import PowerModel
from drivers.sim.in_process_rig import InProcessRig
from hil.config.rig import Rig
from hil.config.schema.equipment import DrivesConfig
from models.plant import Plant
from models.plant.capture_plant import CapturePlant
from models.plant.validity_watch import EVERY_NS
from models.terrain import GivenContacts


def build_plant(rig: Rig, *, accounts: bool = False, contacts: GivenContacts | None = None) -> Plant:
    """The plant of a simulated rig, perturbed by the config's seed; with `accounts` it notes its energies.

    `contacts` are those of its wheels, if they come from outside.
    """
    chance = np.random.default_rng([rig.config.seed, 1])
    kind = Plant if rig.simulated.capture is None else CapturePlant
    return kind(
        rig.simulated,
        chance,
        accounts=accounts,
        notes_loads=rig.layout.controls_loads,
        tilt_deg=rig.limits.tilt_deg,
        contacts=contacts,
    )


def build_simulated_rig(rig: Rig) -> InProcessRig:
    """The simulated rig with the controller's device interfaces."""
    config, plant = rig.config, build_plant(rig)
    sections = config.devices.sections() if config.devices else ()
    return InProcessRig(
        plant,
        block_samples=config.daq.block_samples if config.daq else 0,
        daq_delay_ns=round(config.links.daq_delay_ms * 1e6),
        drives_delay_ns=round(config.links.drives_delay_ms * 1e6),
        load_block_samples=config.loads.block_samples if config.loads else 0,
        power=power_model(config.drives)._replace(supplies=supplies)
        if (supplies := len(config.layout.supplies))
        else None,
        servo_torque_per_A=config.servos.torque_per_A_Nm if config.servos and config.layout.servo_currents else None,
        instrument_delays_ns={role: round(one.delay_ms * 1e6) for role, one in config.instruments.items()},
        further={one.role: driver_of(one).in_process(one, plant) for one in sections if one.parts},
    )


def power_model(drives: DrivesConfig) -> PowerModel:
    """Currents and supply of the simulated drives."""
    return PowerModel(*drives.power.model_dump().values())


def warm_up_simulated_rig(rig: Rig, simulated_rig: InProcessRig) -> int:
    """Run every kernel of a simulated rig once: two blocks, and a look at its validity.

    Returns the simulated time reached [ns].
    """
    daq = rig.config.daq
    to_ns = max(round(2e6 * daq.block_ms) if daq else 0, EVERY_NS)
    simulated_rig.advance(to_ns)
    simulated_rig.plant.effective_kinetic_energies_now()  # the first call takes 20 ms, and comes at the impact
    return to_ns
