"""Commands that change settings and plan: their form and length are checked, and a client learns how each ended."""

from __future__ import annotations

import msgspec
import pytest

from hil.messages.operator_input import MOST_BYTES, ChoosePlan, Set, command_to_bytes
from hil.operator.client import CommandClient, CommandError

from .resident import Resident


@pytest.mark.parametrize("command", [Set("trial.angle_deg", 70), Set("seed", 5, more=True), ChoosePlan("thesis")])
def test_a_change_needs_the_lease_and_is_handed_on_as_it_is(client, sink, command):
    anna = client("anna")
    assert anna.ask(command).refusal == "no_lease"
    assert sink.commands == []
    anna.lease("take")
    assert anna.ask(command).ok
    assert sink.commands == [command]


@pytest.mark.parametrize(
    "fields",
    [
        b'"key":"trial.angle_deg","value":[70]', b'"key":"trial.angle_deg","value":{"deg":70}', b'"key":"seed"',
        b'"key":7,"value":70', b'"key":["trial","angle_deg"],"value":70', b'"key":"a.b","value":1,"more":"yes"',
        b'"key":"a.b","value":1,"lease":"mine"', b'"values":{"trial.angle_deg":70}', b'"key":"a.b","value":NaN',
    ],
)  # fmt: skip
def test_a_set_of_another_form_is_malformed(client, sink, fields):
    anna = client("anna")
    anna.lease("take")
    anna.sequence += 1
    content = b'{"session":"%s","sequence":%d,"command":{"type":"set",%s}}'
    frame = anna.requests.closed(content % (anna.session.encode(), anna.sequence, fields))
    assert anna.send(frame).refusal == "malformed"
    assert sink.commands == []


def test_a_set_has_as_many_bytes_as_an_event_records_and_no_more(client, sink):
    anna = client("anna")
    anna.lease("take")
    room = MOST_BYTES - len(command_to_bytes(Set("trial.angle_deg", "")))
    assert anna.ask(Set("trial.angle_deg", "x" * room)).ok
    assert anna.ask(Set("trial.angle_deg", "x" * (room + 1))).refusal == "too_long"
    assert anna.ask(ChoosePlan("x" * MOST_BYTES)).refusal == "too_long"
    assert len(sink.commands) == 1


class Changing(Resident):
    """Answers each whole change, with what is wrong."""

    def __init__(self, rig, refused=()):
        super().__init__(rig)
        self._refused, self._answered = refused, 0
        self._tell()

    def _tell(self):
        settings = {"answered": self._answered, "refused": list(self._refused), "changed": {}, "plan": ""}
        self.show(state="idle", message="", settings=settings)

    def answer(self, command):
        if not getattr(command, "more", False):
            self._answered += 1
            self._tell()


def test_a_script_changes_several_settings_as_one_and_waits_until_they_are_in_force(found_rig):
    with Changing(found_rig) as resident, CommandClient.running("Ada") as rig, rig.lease():
        rig.set({"trial.angle_deg": 70, "ground.kind": "firm", "obstacle.leg_stiffness_up_Npm": None})
        rig.choose_plan("thesis")
    assert resident.asked == [
        Set("trial.angle_deg", 70, more=True), Set("ground.kind", "firm", more=True),
        Set("obstacle.leg_stiffness_up_Npm", None), ChoosePlan("thesis"),
    ]  # fmt: skip


def test_a_script_is_told_why_a_change_was_refused(found_rig):
    lines = [
        "trial.angle_deg: found 100; allowed: a number 10 to 90",
        "trial.colour: found an unknown key with the value 1; allowed: ...",
    ]
    with (
        Changing(found_rig, lines),
        CommandClient.running("Ada") as rig,
        rig.lease(),
        pytest.raises(CommandError) as error,
    ):
        rig.set({"trial.angle_deg": 100, "trial.colour": 1})
    assert str(error.value).splitlines() == lines
    assert error.value.refusal == "refused"


def test_hil_command_set_sends_values_as_yaml_and_says_why_they_are_refused(found_rig, capsys):
    from hil.cli import run

    with Changing(found_rig) as resident:
        assert (
            run(["command", "set", "trial.angle_deg=70", "ground.rolling=false", "obstacle.leg_stiffness_up_Npm=null"])
            == 0
        )
        assert run(["command", "plan", "thesis"]) == 0
    values = [(command.key, command.value) for command in resident.asked[:3]]
    assert values == [("trial.angle_deg", 70), ("ground.rolling", False), ("obstacle.leg_stiffness_up_Npm", None)]
    assert resident.asked[3] == ChoosePlan("thesis")
    with Changing(found_rig, ["trial.angle_deg: found 100; allowed: a number 10 to 90"]):
        assert run(["command", "set", "trial.angle_deg=100"]) == 1
    assert "trial.angle_deg: found 100; allowed: a number 10 to 90" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["trial.angle_deg", "trial.angle_deg=[70]", "trial.angle_deg={a: 1}", "trial.angle_deg=[", "=5"]
)
def test_hil_command_set_of_another_form_is_wrong_usage_and_sends_nothing(found_rig, text):
    from hil.cli import run

    with Changing(found_rig) as resident:
        assert run(["command", "set", text]) == 2
    assert resident.asked == []


def test_what_the_page_draws_with_is_read_again_when_it_is_another(tmp_path):
    from hil.operator.page.messages import DrawingInputs, DrawingInputsFile, write_shown

    write_shown(tmp_path, DrawingInputs({"name": "one"}, []))
    file = DrawingInputsFile(tmp_path)
    first = file.read()
    assert (first.content, file.read() is first) == ({"name": "one"}, True)
    write_shown(tmp_path, DrawingInputs({"name": "two"}, [{"item": "disk"}]))
    assert file.read() == DrawingInputs({"name": "two"}, [{"item": "disk"}])
    assert msgspec.json.decode((tmp_path / "shown.json").read_bytes())["content"] == {"name": "two"}
