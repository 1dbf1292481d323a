import math

import numpy as np
import pytest

from models.sensors.rear_frame import TABLE_C1, rear_link_share


def test_share_of_the_rear_link_is_that_of_the_statics_of_appendix_c2():
    shares = [rear_link_share(math.radians(beta)) for beta in (40, 50, 60, 70, 80, 90)]
    assert shares == pytest.approx([0.132, 0.163, 0.206, 0.286, 0.406, 0.621], abs=5e-4)


@pytest.mark.parametrize("row", TABLE_C1.tolist())
def test_frame_with_that_share_is_in_equilibrium(row):
    """The forces of all three links, solved from (C.1) with its arm mended, without weight."""
    beta, alpha, base, height = row
    beta, alpha = math.radians(beta), math.radians(alpha)
    foot, top = np.zeros(2), None
    rear_foot = np.array([base, 0.0])
    # the top is where plate and rear link meet
    plate, rear = np.array([math.cos(beta), math.sin(beta)]), np.array([-math.cos(alpha), math.sin(alpha)])
    length, _ = np.linalg.solve(np.column_stack([plate, -rear]), rear_foot - foot)
    top = length * plate
    into_plate = np.array([math.sin(beta), -math.cos(beta)])  # unit force of the wheel, at height d
    contact = height / math.sin(beta) * plate
    push = rear_link_share(beta) * rear  # what the compressed rear link exerts on the top
    moment = np.cross(np.append(contact, 0.0), np.append(into_plate, 0.0))[2]
    assert moment + np.cross(np.append(top, 0.0), np.append(push, 0.0))[2] == pytest.approx(0.0, abs=2e-12)


@pytest.mark.parametrize("beta", [39, 91, 0, math.nan])
def test_angle_outside_of_table_c1_is_refused(beta):
    with pytest.raises(ValueError, match="Table C-1"):
        rear_link_share(math.radians(beta))
