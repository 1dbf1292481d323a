"""A run over a scan: recorded, verified, replayed and drawn; it ends where the scan ends."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.film.solids import RigSolids
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config, parse_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.recording import read_trial
from models.kernels.bound import BoundArguments
from models.validity import EDGE
from models.vehicle import Scene, run_bound
from models.vehicle.invariants import check_invariants, make_invariants

LOCAL = "tcp://127.0.0.1:*"
SHORT = {"drive.steps": [{"for_s": 0.6, "speed_mps": 0.2}], "telemetry.endpoint": "", "operator.endpoint": LOCAL}


@pytest.mark.slow
def test_a_run_over_a_scan_is_verified_and_replayed_without_its_file(tmp_path):
    config = load_config("sim_scan", SHORT)
    run_experiment(config, tmp_path, progress=lambda _: None, figure=False)
    record = read_trial(tmp_path, trusted=True)
    recorded = parse_config(str(record.meta["config"]), "record")
    assert recorded.sha256() == config.sha256()
    assert recorded.ground.scan.map == config.ground.scan.map
    assert replay(tmp_path).differences == []
    assert [check for check in verify(tmp_path) if not check.ok] == []


@pytest.mark.slow
def test_a_rover_beyond_the_edge_of_the_scan_is_outside_what_is_known():
    rover, vehicle, state = nominal_rig(load_config("sim_scan", SHORT)).build()
    invariants = make_invariants(rover, vehicle, state)
    state.v[0] = 0.1
    check_invariants(invariants, 1e-3)  # it moves
    check_invariants(invariants, 1e-3)
    assert invariants.found[0] != EDGE
    state.q[0] += 6.0
    run_bound(BoundArguments(Scene(vehicle, state)), 1, 1e-5)
    check_invariants(invariants, 1e-3)
    assert invariants.found[0] == EDGE
    assert invariants.found[1] == pytest.approx(
        6.0 + 0.425 - vehicle.terrain.relief.extent[1], abs=0.02
    )  # it is inclined


def test_the_view_in_three_dimensions_has_a_net_through_the_nodes_of_the_map():
    config = load_config("sim_scan")
    ground = [solid for solid in RigSolids(Rig(config)).solids() if solid.frame == "ground"]
    height = nominal_rig(config).ground.relief.height
    assert len(ground) == 1
    assert ground[0].points[:, 2].max() == height.max()
    columns, rows = height.shape
    assert len(ground[0].points) == 2 * ((columns - 1) * rows + columns * (rows - 1))
    lengths = np.linalg.norm(np.diff(ground[0].points.reshape(-1, 2, 3)[:, :, :2], axis=1), axis=2)
    assert lengths == pytest.approx(0.1)
