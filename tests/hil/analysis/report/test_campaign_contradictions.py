"""Plan, trials, statuses, folders and table of a campaign are held against each other, all digests made anew or not."""

from __future__ import annotations

import hashlib
import json
import re
import shutil

import pytest

from hil.analysis.campaign import own_digest
from hil.analysis.compare import compare
from hil.analysis.report.make import DoubtedError, report_campaign

pytestmark = pytest.mark.slow


def without_the_second(trials):
    return [trials[0], *trials[2:]]


def dropped_though_accepted(trials):
    return [trials[0], trials[1] | {"status": "dropped"}, *trials[2:]]


def kept_though_not_accepted(trials):
    return [*trials[:3], trials[3] | {"status": "kept"}]


def without_its_folder(trials):
    return [trials[0], trials[1] | {"folder": ""}, *trials[2:]]


def twice(trials):
    return [*trials, trials[1]]


def one_more_than_planned(trials):
    return [*trials[:3], trials[3] | {"number": 5}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_the_second, "trial_0002 is there, but campaign.json does not list it"),
        (dropped_though_accepted, "trial_0002: campaign.json has status 'dropped', summary.json 'kept'"),
        (kept_though_not_accepted, "trial_0004: campaign.json has status 'kept', summary.json 'dropped'"),
        (without_its_folder, "trial 2, attempt 1 has the folder '', but the campaign keeps folders"),
        (twice, "trial 2, attempt 1 is listed twice"),
        (one_more_than_planned, "trial 5, attempt 1 is listed, but 4 trials were planned"),
    ],
)
@pytest.mark.parametrize("made", [report_campaign, lambda folder: compare(folder, folder)], ids=["report", "compare"])
def test_a_campaign_changed_with_all_digests_made_anew_contradicts_itself(
    campaign_folder, change_campaign, tmp_path, change, said, made
):
    folder = campaign_folder(tmp_path)
    change_campaign(folder, change)
    with pytest.raises(DoubtedError, match=re.escape(said)):
        made(folder)


def test_a_status_is_held_against_its_summary_where_a_campaign_keeps_no_folders(campaign_of, change_campaign, tmp_path):
    folder = campaign_of(tmp_path / "numbers", {50.0: (80.0, 84.0)})
    change_campaign(folder, dropped_though_accepted)
    with pytest.raises(DoubtedError, match="trial 2, attempt 1 is dropped, its summary says kept"):
        report_campaign(folder)


def test_a_table_changed_with_its_digest_made_anew_is_held_against_the_trials(campaign_folder, tmp_path):
    folder = campaign_folder(tmp_path)
    table = (folder / "campaign.csv").read_text()
    peak = json.loads((folder / "campaign.json").read_text())["trials"][1]["summary"]["sum_of_peaks_N"]
    (folder / "campaign.csv").write_text(table.replace(repr(peak), "999.0"))
    content = json.loads((folder / "campaign.json").read_text())
    content["digests"]["csv"] = hashlib.sha256((folder / "campaign.csv").read_bytes()).hexdigest()
    (folder / "campaign.json").write_text(json.dumps(content))
    with pytest.raises(DoubtedError, match=r"campaign\.csv has sum_of_peaks_N '999\.0' in row 2"):
        report_campaign(folder)


def test_a_plan_that_is_not_the_one_of_its_checksum_is_named(campaign_folder, tmp_path):
    folder = campaign_folder(tmp_path)
    content = json.loads((folder / "campaign.json").read_text())
    content["plan_sha256"] = "0" * 64
    content["digests"]["campaign"] = own_digest(content)
    (folder / "campaign.json").write_text(json.dumps(content))
    with pytest.raises(DoubtedError, match="its plan is not the one of plan_sha256"):
        report_campaign(folder)


@pytest.mark.usefixtures("page_only")
def test_a_campaign_that_was_stopped_before_its_last_trial_is_reported(campaign_folder, change_campaign, tmp_path):
    folder = campaign_folder(tmp_path)
    change_campaign(folder, lambda trials: trials[:3])
    shutil.rmtree(folder / "trial_0004")
    assert report_campaign(folder).wrong == ()
