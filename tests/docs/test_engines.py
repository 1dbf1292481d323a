"""The page of whole simulations by other engines has what our rover and MuJoCo do."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["ours, nonsmooth", "MuJoCo, hard"])
def test_the_page_has_what_an_engine_does_on_the_slope(name, reproducing, pages):
    pytest.importorskip("mujoco", reason="MuJoCo, the second reference engine, is not installed")
    import engines

    lines = pages["docs/reproduce/engines.md"].splitlines()
    assert f"| {name} | {engines.slope_row(name)} |" in lines
    assert len([line for line in lines if line.startswith("| Bullet")]) == 6
