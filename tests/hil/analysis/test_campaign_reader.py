import json

import pytest

from hil.analysis.campaign import is_campaign, read_campaign
from hil.recording.run_folder import FolderError

HEAD = "number,attempt,status,folder,angle_deg,seed,accepted,operator_word,content,peak_force_N\n"
ROW = "1,1,kept,trial_0001,60.0,9,true,12,ab12,\n"


def write(folder, table=HEAD + ROW, meta='{"name": "one", "plan": "thesis", "trials": []}'):
    (folder / "campaign.csv").write_text(table, encoding="utf-8")
    (folder / "campaign.json").write_text(meta, encoding="utf-8")
    return folder


def test_a_row_has_values_of_their_types_and_words_stay_words(tmp_path):
    campaign = read_campaign(write(tmp_path))
    assert campaign.name == "one"
    assert campaign.meta == {"name": "one", "plan": "thesis"}
    (row,) = campaign.rows
    assert row == {
        "number": 1, "attempt": 1, "status": "kept", "folder": "trial_0001", "angle_deg": 60.0, "seed": 9,
        "accepted": True, "operator_word": "12", "content": "ab12", "peak_force_N": None,
    }  # fmt: skip


def test_a_float_comes_back_to_the_last_bit(tmp_path):
    value = 0.1 + 0.2
    table = HEAD + ROW.removesuffix("\n") + repr(value) + "\n"
    assert read_campaign(write(tmp_path, table)).rows[0]["peak_force_N"] == value


def test_a_folder_is_a_campaign_by_its_json(tmp_path):
    assert not is_campaign(tmp_path)
    assert not is_campaign(tmp_path / "a\0b")
    assert is_campaign(write(tmp_path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"meta": "{"}, "no campaign that can be read"),
        ({"meta": json.dumps([1])}, "does not hold the name"),
        ({"meta": json.dumps({"name": 3})}, "does not hold the name"),
        ({"table": HEAD + "1,1,kept\n"}, "row 1 has more or fewer cells"),
        ({"table": HEAD + ROW.replace("60.0", "steep")}, "row 1 has the angle 'steep'"),
        ({"table": "time,volts\n1,2\n"}, "has no column angle_deg, content, folder, number, status"),
    ],
)
def test_what_is_no_campaign_is_refused_in_a_sentence(tmp_path, change, said):
    with pytest.raises(FolderError, match=said):
        read_campaign(write(tmp_path, **change))


def test_a_folder_without_its_table_is_refused(tmp_path):
    (write(tmp_path) / "campaign.csv").unlink()
    with pytest.raises(FolderError, match=r"campaign\.csv"):
        read_campaign(tmp_path)
