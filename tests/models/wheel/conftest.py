"""Shared by the wheel's tests. Hypothesis tests set deadline=None: the first call of a kernel compiles."""

import pytest

from models.wheel import RigidWheel, Soil


@pytest.fixture
def dry_sand() -> Soil:
    """Dry sand of Petersen 2012, Table 3.1; friction and cohesion assumed."""
    return Soil(1.783e6, 0.75, cohesion=200.0, friction_angle=0.5, rebound=0.1, slip_modulus=0.185)


@pytest.fixture(params=["exact", "tire_1", "tire_2", "published"])
def wheel(request: pytest.FixtureRequest, dry_sand: Soil) -> RigidWheel:
    """The big wheel of Petersen 2012, Table 3.1, in all variants with traction by (4.30)."""
    return RigidWheel(0.265, 0.22, dry_sand, request.param)
