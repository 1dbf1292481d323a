"""`hil report CAMPAIGN`: one page that needs no network, escapes what people typed, and refuses what does not match."""

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser

import matplotlib.image
import numpy as np
import pytest

from hil.analysis.campaign import read_campaign, row_of, table_text
from hil.analysis.report.groups import WITH, WITHOUT, groups_of, trials_of
from hil.analysis.report.make import DoubtedError, report_campaign
from hil.analysis.report.trial_figures import trace_of
from hil.cli import run
from hil.recording import read_trial
from hil.recording.run_folder import FolderError, annotate, summary_of

pytestmark = pytest.mark.slow

HOSTILE = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'


class Page(HTMLParser):
    """Elements of a page, and the text that directly follows the start of each."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data

    def of(self, tag):
        return [
            (attributes, text)
            for (name, attributes), text in zip(self.elements, self.texts, strict=True)
            if name == tag
        ]


@pytest.fixture(scope="module")
def reported(campaign_folder, tmp_path_factory):
    """A campaign whose words are hostile, and its report."""
    folder = campaign_folder(
        tmp_path_factory.mktemp("reported"), name=HOSTILE, operator_word=HOSTILE, variant="rcp $x^$ & co"
    )
    annotate(folder / "trial_0001", HOSTILE, add=["soft sand"])
    return report_campaign(folder)


@pytest.fixture(scope="module")
def page(reported):
    return Page(reported.page.read_text(encoding="utf-8"))


def test_the_page_asks_for_nothing_outside_itself(page):
    addresses = [
        value for _, attributes in page.elements for key, value in attributes.items() if key in ("src", "href", "data")
    ]
    assert all(value.startswith(("data:image/svg+xml;base64,", "#")) for value in addresses)
    assert not any(tag in ("link", "iframe", "object", "embed", "base") for tag, _ in page.elements)
    styles = "".join(text for _, text in page.of("style"))
    assert "url(" not in styles
    assert "@import" not in styles


def test_no_script_but_ours_may_run(page):
    (policy,) = [one["content"] for tag, one in page.elements if one.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    ours = [text for attributes, text in page.of("script") if attributes.get("class") != "trace"]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in ours]
    assert re.search(r"script-src ([^;]*)", policy)[1].split() == hashes
    assert len(ours) == 2


def test_what_people_typed_is_shown_and_does_nothing(page):
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert all("alert" not in text for _, text in page.of("script"))
    assert page.of("h1")[0][1] == HOSTILE
    assert sum(HOSTILE in text for _, text in page.of("td")) >= 4


def test_notes_and_tags_of_trials_are_in_the_table(page):
    assert [text for _, text in page.of("td") if "soft sand" in text] == [f"{HOSTILE}; soft sand"]


def test_the_page_begins_with_what_was_done_and_how_many_count(page, reported):
    text = reported.page.read_text(encoding="utf-8")
    (opening,) = [words for attributes, words in page.of("p") if attributes.get("class") == "opening"]
    assert "at 2 angles from 50° to 70°, on a SIMULATED rig, a model: no hardware moved; led by N; 20" in opening
    places = [text.find(words) for words in (
        'class="opening"', "3 of 4 trials count; 1 dropped by the rules.", "the wheel stayed on the obstacle: 1 (",
        "cannot be judged", "<h2>Trials</h2>", "<h2>Traces</h2>", "<h2>Force over the obstacle",
    )]  # fmt: skip
    assert -1 not in places
    assert places == sorted(places)


def test_every_trial_named_in_the_answers_leads_to_its_row_and_its_trace(page, reported):
    rows = {one["id"] for tag, one in page.elements if tag == "tr" and "id" in one}
    links = [one["href"] for tag, one in page.elements if one.get("class") == "to-trace"]
    assert {f"#{row}" for row in rows} == set(links)
    assert rows == {f"trial-{trial.label}" for trial in reported.trials}
    assert links[0] == "#trial-4"  # the one that was dropped


def test_a_table_of_numbers_of_numpy_holds_the_numbers():
    trial = {"number": 1, "attempt": 1, "status": "kept", "folder": "", "settings": {}}
    row = row_of(trial | {"summary": {"hz": [np.float64(50.25)]}})
    assert table_text([row]).splitlines()[1].endswith(",50.25")


def test_every_trial_is_listed_and_none_without_its_reason(page, reported):
    rows = [attributes for attributes, _ in page.of("tr") if attributes.get("class") in ("kept", "dropped")]
    assert len(rows) == len(reported.trials) == 4
    cells = [text for _, text in page.of("td")]
    for trial in reported.trials:
        assert trial.kept or any(reason and reason in cell for reason in [trial.row["reasons"]] for cell in cells)
    assert sum(not trial.kept for trial in reported.trials) == 1


def test_a_trial_that_was_dropped_counts_in_no_mean(reported):
    (group,) = reported.groups
    assert [one.n for one in group.over_angle("sum_of_peaks_N").values()] == [2, 1]


def test_the_traces_in_the_page_are_those_of_the_records(page, reported):
    nodes = {one["data-trial"]: (one, text) for one, text in page.of("script") if one.get("class") == "trace"}
    assert list(nodes) == ["1", "2", "3", "4"]
    for trial in reported.trials:
        attributes, text = nodes[trial.label]
        points = int(attributes["data-points"])
        values = np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, points)
        expected = trace_of(read_trial(trial.folder, trusted=True), trial.summary)
        assert attributes["data-names"].split("|") == list(expected.names)
        assert np.array_equal(values, expected.values)
        assert len(text) < 250_000


def test_no_peak_is_lost_between_the_points_of_a_trace(reported):
    for trial in reported.trials:
        record = read_trial(trial.folder, trusted=True)
        sensitivity = np.array([float(one) for one in record.meta["sensitivity_VpN"].split(",")])
        forces = record.raw / sensitivity
        trace = trace_of(record, trial.summary, bins=40)
        assert trace.values.shape[1] <= 80
        highest = np.append(forces.max(axis=0), forces.sum(axis=1).max())
        assert trace.values[:4].max(axis=1) == pytest.approx(highest, rel=1e-6)
        when = trace.times_s[trace.values[3].argmax()] + trial.summary["impact_time_s"]
        assert when == pytest.approx(record.daq_t_ns[forces.sum(axis=1).argmax()] * 1e-9, abs=0.5 * 0.7 / 40)


def test_every_figure_is_there_as_png_pdf_and_svg_and_says_what_it_is_of(reported):
    names = {path.name for path in reported.figures}
    figures = (
        "force_over_angle", "force_over_energy", "force_over_hit_height", "load_points", "traces", "timing",
    )  # fmt: skip
    assert names == {f"{figure}.{ending}" for figure in figures for ending in ("png", "pdf", "svg")}
    digest = hashlib.sha256((reported.page.parent / "campaign.csv").read_bytes()).hexdigest()
    for path in reported.figures:
        content = path.read_bytes()
        assert content.startswith({".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[path.suffix])
        if path.suffix != ".pdf":  # there the words may be compressed
            assert digest.encode() in content
    assert matplotlib.image.imread(reported.page.parent / "figures" / "force_over_angle.png").shape[1] > 1400


@pytest.mark.usefixtures("page_only")
def test_the_same_campaign_gives_the_same_page(reported):
    before = reported.page.read_bytes()
    report_campaign(reported.page.parent)
    assert reported.page.read_bytes() == before


def spoil_summary(folder):
    place = folder / "trial_0002" / "summary.json"
    place.write_text(place.read_text().replace('"sum_of_peaks_N": ', '"sum_of_peaks_N": 9'))


def spoil_table(folder):
    place = folder / "campaign.csv"
    peak = repr(summary_of(folder / "trial_0002")["sum_of_peaks_N"])
    assert peak in place.read_text()
    place.write_text(place.read_text().replace(peak, "999.0"))


def spoil_campaign(folder):
    place = folder / "campaign.json"
    place.write_text(place.read_text().replace('"number": 2', '"number": 5'))


def swap_trials(folder):
    (folder / "trial_0001").rename(folder / "aside")
    (folder / "trial_0002").rename(folder / "trial_0001")
    (folder / "aside").rename(folder / "trial_0002")


def damage_record(folder):
    place = folder / "trial_0003" / "trial.h5"
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 0xFF
    place.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_summary, "trial_0002: summary.json does not match its digest"),
        (spoil_table, "campaign.csv does not match its digest in campaign.json"),
        (spoil_campaign, "campaign.json does not match its digest"),
        (lambda folder: (folder / "campaign.csv").unlink(), "campaign.csv cannot be read"),
        (swap_trials, "trial_0001: trial_0001 holds another trial"),
        (damage_record, "trial_0003: trial.h5 does not match its digest"),
        (lambda folder: shutil.rmtree(folder / "trial_0003"), "trial_0003 has no summary.json"),
    ],
)
def test_what_does_not_match_is_refused_and_a_good_report_stays(campaign_folder, tmp_path, spoil, said):
    folder = campaign_folder(tmp_path)
    (folder / "report.html").write_text("good")
    spoil(folder)
    with pytest.raises(DoubtedError, match=said.removeprefix("trial_0001: ")):
        report_campaign(folder)
    assert (folder / "report.html").read_text() == "good"
    assert not (folder / "figures").exists()


@pytest.mark.usefixtures("page_only")
def test_what_does_not_match_is_reported_beside_the_good_report_and_stamped(campaign_folder, tmp_path):
    folder = campaign_folder(tmp_path)
    (folder / "report.html").write_text("good")
    damage_record(folder)
    made = report_campaign(folder, unverified=True)
    assert (folder / "report.html").read_text() == "good"
    assert made.page.name == "report.unverified.html"
    assert "NOT VERIFIED" in made.page.read_text(encoding="utf-8")
    assert all("unverified" in path.stem for path in made.figures)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"folder": "../elsewhere"}, "is no name in this folder"),
        ({"summary": {"sum_of_peaks_N": 999.0}}, r"campaign\.json has sum_of_peaks_N 999\.0"),
        ({"summary": {"accepted": False}}, r"campaign\.json has accepted False"),
    ],
)
def test_what_another_program_wrote_into_the_campaign_is_held_against_the_summaries(
    campaign_folder, change_campaign, tmp_path, change, said
):
    folder = campaign_folder(tmp_path)

    def changed(trials):
        of_summary = {"summary": {**trials[1]["summary"], **change.get("summary", {})}}
        return [trials[0], trials[1] | change | of_summary, *trials[2:]]

    change_campaign(folder, changed)
    with pytest.raises(DoubtedError, match=said):
        report_campaign(folder)


@pytest.mark.usefixtures("page_only")
def test_a_campaign_without_folders_is_reported_by_its_numbers(campaign_of, tmp_path):
    folder = campaign_of(tmp_path / "numbers", {50.0: (80.0, 84.0), 70.0: (90.0, 95.0, 91.0)})
    text = report_campaign(folder).page.read_text(encoding="utf-8")
    assert "keeps no records of single trials" in text
    assert "Force over hit height" in text


@pytest.mark.usefixtures("page_only")
def test_peaks_by_strain_gauges_have_a_column_where_trials_have_them(campaign_of, change_campaign, tmp_path):
    folder = campaign_of(tmp_path / "numbers", {50.0: (80.0, 84.0)})
    assert "strain gauges" not in report_campaign(folder).page.read_text(encoding="utf-8")

    change_campaign(
        folder, lambda trials: [one | {"summary": one["summary"] | {"strain_peak_N": 61.7}} for one in trials]
    )
    text = report_campaign(folder).page.read_text(encoding="utf-8")
    assert "peak by strain gauges [N]" in text
    assert "<td>61.7</td>" in text


def test_a_campaign_that_has_not_begun_is_refused(campaign_of, tmp_path):
    with pytest.raises(FolderError, match="holds no trial yet"):
        report_campaign(campaign_of(tmp_path / "empty", {}))


@pytest.mark.parametrize(("kind", "fitting"), [("soil", WITHOUT), ("firm", WITH)])
def test_the_ground_of_the_plan_says_which_energy_belongs_to_it(campaign_of, tmp_path, kind, fitting):
    campaign = read_campaign(campaign_of(tmp_path / "one", {50.0: (80.0, 84.0)}, ground="bed 3"))
    campaign.meta["plan"] = {"soils": {"bed 3": {"set": {"ground.kind": kind}}}}
    (group,) = groups_of(trials_of(campaign), campaign, "soil")
    assert (group.label, group.kind, group.fitting) == ("bed 3 ground", kind, fitting)
    assert {group.fitting, group.other} == {WITH, WITHOUT}


@pytest.mark.usefixtures("page_only")
def test_the_command_reports_a_campaign(reported, capsys):
    folder = reported.page.parent
    assert run(["report", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["page"] == str(folder / "report.html")
    (group,) = found["groups"]
    assert group["over_angle"]["sum_of_peaks_N"][0]["n"] == 2
    assert [trend["verdict"] for trend in group["trends"]] == ["cannot be judged"] * 2
    assert "it takes three angles" in group["trends"][0]["words"]
    assert group["outliers"] == []
    assert run(["report", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "3 of 4 trials count; 1 dropped by the rules." in printed
    assert group["trends"][0]["words"] in printed


def test_the_command_refuses_a_doubtful_campaign(campaign_folder, tmp_path, capsys):
    folder = campaign_folder(tmp_path)
    spoil_summary(folder)
    assert run(["report", str(folder)]) == 2
    assert "--unverified makes a stamped report" in capsys.readouterr().err
