"""The lint of names: names that it reports, and names that it accepts."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "check_names.py"
SPEC = importlib.util.spec_from_file_location("check_names", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
check_names = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_names)


def found(root: Path, path: str, code: str) -> list[str]:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    return check_names.problems(root, [file])


@pytest.mark.parametrize(
    "code",
    [
        "class Crew: ...",
        "def crew(): ...",
        "def start(crew): ...",
        "rig.crew = 1",
        "start(crew=1)",
        "_crew = 1",
        "import hil.crew",
        "from hil.crew import start",
        "from hil.processes import supervisor as crew",
    ],
)
def test_a_name_that_was_given_up_is_found_wherever_it_is_one(tmp_path: Path, code: str):
    (problem,) = found(tmp_path, "hil/processes/start.py", code)
    assert problem.startswith("hil/processes/start.py:1: ")
    assert problem.endswith(("write supervisor", "write WorkerSupervisor"))


def test_a_file_has_a_name_too(tmp_path: Path):
    assert found(tmp_path, "hil/processes/crew.py", "") == ["hil/processes/crew.py:1: crew: write supervisor"]


def test_a_word_that_is_good_elsewhere_is_found_in_its_folder_only(tmp_path: Path):
    assert len(found(tmp_path, "hil/cli/sim.py", "def tell(): ...")) == 1
    assert found(tmp_path, "tests/drivers/test_line.py", "def tell(): ...") == []


def test_families_of_names_are_found_by_pattern(tmp_path: Path):
    assert len(found(tmp_path, "hil/config/loading.py", "device_misfits = SoilAssumptions = 0")) == 2


def test_text_and_names_of_drivers_are_let_stand(tmp_path: Path):
    code = '"""The crew."""\nfrom drivers.sim.far_end import advance\nnames = {"crew": 1}  # the crew'
    assert found(tmp_path, "hil/processes/start.py", code) == []


@pytest.mark.soak
def test_the_tree_has_none_of_them(capsys):
    assert check_names.main() == 0
    assert "none of the names given up" in capsys.readouterr().out
