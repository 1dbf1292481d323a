"""Drivers by role and name: built-in ones at once, those of installed packages when they are named."""

from __future__ import annotations

import subprocess
import sys

import pytest

from drivers.driver_type import DriverType
from drivers.extensions import ExtensionError
from drivers.registry import BUILT_IN, broken_drivers, built_in, driver_names, driver_type
from hil.config import ConfigError, load_config

NO_QUANTITY = """
from dataclasses import dataclass
from models.rover import RcpParameters
@dataclass(frozen=True)
class DRIVER(RcpParameters):
    mass: float = 3.0
    rover = "hull"
DRIVER.__name__ = "Hull"
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts a package with one entry point on the path, as installed by pip."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name: str, code: str, group: str = "drivers", attribute: str = "DRIVER") -> None:
        (tmp_path / f"{name}_code.py").write_text(code)
        about = tmp_path / f"lab_{name}-2.5.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: lab-{name}\nVersion: 2.5\n")
        (about / "entry_points.txt").write_text(f"[rover_hil.{group}]\n{name} = {name}_code:{attribute}\n")

    return install


def test_every_driver_of_ours_is_found_by_role_and_name_and_no_two_are_alike():
    assert len({(kind.role, kind.name) for kind in BUILT_IN}) == len(BUILT_IN)
    for kind in BUILT_IN:
        assert driver_type(kind.role, kind.name) is kind
        assert kind.settings.role == kind.role
        assert kind.settings.model_fields["driver"].annotation.__args__ == (kind.name,)


def test_a_name_of_another_role_is_none():
    assert driver_type("valves", "roboclaw") is None
    assert [kind.name for kind in built_in("daq")] == ["ni"]


def test_a_package_that_cannot_be_imported_is_named_when_its_driver_is_and_the_others_go_on(install):
    install("torn", "import no_such_module_anywhere")
    with pytest.raises(ConfigError) as caught:
        load_config("sim_wire", ["devices.drives.driver=torn"])
    (problem,) = caught.value.problems
    assert problem.key == "devices.drives.driver"
    assert problem.allowed == (
        "driver torn: the installed package lab-torn 2.5 cannot be imported (ModuleNotFoundError: No module named "
        "'no_such_module_anywhere'): repair, update or remove it"
    )
    assert load_config("sim_wire").devices.drives.driver == "roboclaw"
    assert "torn" in driver_names("drives")
    assert [text for text in broken_drivers() if "lab-torn 2.5" in text] == [problem.allowed]


def test_a_package_that_brings_something_else_is_named(install):
    install("odd", "DRIVER = 5")
    with pytest.raises(ExtensionError, match=r"lab-odd 2\.5 provides 5; needed: a DriverType with the name odd"):
        driver_type("drives", "odd")


def test_an_experiment_that_cannot_be_imported_is_named(install):
    from hil.experiments.registry import broken_experiments, experiment_named

    install("rent", "raise RuntimeError('no licence')", "experiments")
    said = "experiment rent: the installed package lab-rent 2.5 cannot be imported (RuntimeError: no licence)"
    with pytest.raises(ConfigError) as caught:
        experiment_named("rent")
    assert said in str(caught.value)
    assert [text.startswith(said) for text in broken_experiments()] == [True]


def test_a_package_that_brings_no_experiment_where_it_says_one_is_named(install):
    from hil.experiments.registry import broken_experiments, experiment_named

    install("formed", "class Formed:\n    name, states = 'formed', None\nDRIVER = Formed", "experiments")
    said = "experiment formed: the installed package lab-formed 2.5 brings <class 'formed_code.Formed'>; "
    said += "needed: a class that derives from hil.experiments.base.Experiment, with the name formed"
    with pytest.raises(ConfigError) as caught:
        experiment_named(load_config("sim_impact", ["experiment=formed"]).experiment)
    assert said in str(caught.value)
    assert said in list(broken_experiments())
    with pytest.raises(ConfigError, match="an experiment with an ExperimentSection; experiment formed: "):
        load_config("sim_impact", ["experiment=formed", "formed.seconds=1"])


@pytest.mark.slow
def test_a_rover_that_is_none_is_named_and_the_others_go_on(install):
    from hil.config.schema.rover import broken_rovers

    install("sunk", "import no_such_module_anywhere", "rovers")
    install("raft", "DRIVER = 5", "rovers")
    install("hull", NO_QUANTITY, "rovers")
    for name, said in (
        ("sunk", "rover sunk: the installed package lab-sunk 2.5 cannot be imported (ModuleNotFoundError"),
        ("raft", "rover raft: the installed package lab-raft 2.5 provides 5; needed: a class derived from"),
        ("hull", "lab-hull 2.5 is not a rover: TypeError: Hull: mass not declared by quantity or choice"),
    ):
        with pytest.raises(ConfigError) as caught:
            load_config("sim_impact", [f"rover.type={name}"])
        assert [problem.key for problem in caught.value.problems] == ["rover.type"]
        assert said in str(caught.value)
        assert [said in text for text in broken_rovers()].count(True) == 1
    assert load_config("sim_impact", ["rover.type=juno"]).rover.type == "juno"


def test_a_rover_of_a_package_needs_no_sizes_of_its_own(install):
    code = "from models.rover import RcpParameters\nclass DRIVER(RcpParameters):\n    rover = 'twin_rcp'\n"
    install("twin_rcp", code, "rovers")
    config = load_config("sim_impact", ["rover.type=twin_rcp", "rover.body_mass_kg=70"])
    assert (config.rover.parameters().body_mass, config.rover.path) == (70.0, "rover")


def test_one_package_may_bring_a_driver_for_each_of_several_roles(install):
    code = (
        "from drivers.modbus.entry import ModbusType\nfrom drivers.roboclaw.entry import RoboclawType\n"
        "class A(RoboclawType):\n    name = 'both'\nclass B(ModbusType):\n    name = 'both'\nDRIVER = (A(), B())\n"
    )
    install("both", code)
    kinds = [driver_type(role, "both") for role in ("drives", "valves", "daq")]
    assert [isinstance(kind, DriverType) for kind in kinds] == [True, True, False]


@pytest.mark.slow
def test_a_driver_of_ours_is_found_without_a_look_at_the_installed_packages():
    code = (
        "from drivers import extensions\n"
        "def refuse(**_): raise AssertionError('searched')\n"
        "extensions.entry_points = refuse\n"
        "from hil.app.driver_factory import DriverFactory\n"
        "from hil.config import load_config\n"
        "from hil.config.rig_setup import rig_setup\n"
        "config = load_config('mars_dome')\n"
        "make = DriverFactory(config.devices, rig_setup(config))\n"
        "[make.device(role) for role in ('daq', 'drives', 'valves')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
