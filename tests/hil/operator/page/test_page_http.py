"""The page over HTTP: who gets what, and that no request but a login changes anything."""

from __future__ import annotations

import json

import pytest

from hil.operator.page.app import HEADERS

PATHS = ("/api/config", "/api/check", "/api/runs", "/api/runs/run_1/summary.json", "/api/runs/run_1/record/impact")


def test_without_a_session_there_is_the_login_form_and_nothing_of_the_rig(browsers):
    stranger = browsers()
    form = stranger.get("/")
    assert (form.status, b'action="/login"' in form.body) == (401, True)
    assert stranger.get("/static/page/login.js").status == 200
    assert [stranger.get(path).status for path in PATHS] == [401] * len(PATHS)


def test_the_token_opens_a_session(browsers):
    browser = browsers()
    answer = browser.log_in("Ada")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert b"<title>" in browser.get("/").body
    assert browser.get("/").status == 200


def test_a_wrong_token_opens_none_and_is_told_so(browsers):
    browser = browsers()
    answer = browser.log_in("Ada", token="0" * 64)
    assert (answer.status, b"This is not the token" in answer.body) == (401, True)
    assert "set-cookie" not in answer.headers
    assert browser.get("/api/config").status == 401


@pytest.mark.parametrize("origin", ["http://rig.example", "null", None])
def test_a_login_that_a_page_from_elsewhere_sends_is_refused(browsers, origin):
    browser = browsers()
    assert browser.log_in("Ada", Origin=origin).status == 403
    assert browser.cookie == ""


def test_a_request_for_another_host_is_refused(browser):
    assert browser.get("/", Host="rig.example").status == 421


def test_a_login_that_is_too_long_is_not_read(browser):
    assert browser.request("POST", "/login", b"token=" + b"0" * 2000).status == 413


def test_no_get_changes_anything(browser, rig):
    for path in ("/", "/login", "/logout", "/ws", *PATHS, "/login?token=0", "/api/stop", "/api/command?type=stop"):
        answer = browser.get(path)
        assert "set-cookie" not in answer.headers, path
    assert browser.get("/logout").status == browser.get("/login").status == 405
    assert browser.request("POST", "/api/runs").status == 405
    assert (rig.commands(), rig.lease()) == ([], None)


def test_a_session_ends_by_logging_out(browser):
    answer = browser.request("POST", "/logout", Origin="http://rig.example")
    assert answer.status == 403
    answer = browser.request("POST", "/logout")
    assert "Max-Age=0" in answer.headers["set-cookie"]


@pytest.mark.parametrize("path", ["/", "/api/config", "/static/page/login.js", "/no_such_page"])
def test_every_answer_forbids_scripts_from_elsewhere(browser, path):
    headers = browser.get(path).headers
    assert {name: headers[name.lower()] for name in HEADERS} == HEADERS
    assert "unsafe" not in headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/client.py", "/static/page/../../client.py"])
def test_only_files_of_the_page_are_served(browser, path):
    assert browser.get(path).status == 404


def test_the_checks_are_those_of_the_last_arming_or_before_it_of_the_config(browser, show):
    viewer = browser.viewer()
    viewer.until("status", lambda status: status.get("state") == "idle")
    assert browser.json("/api/check")["source"] == "config"
    made = [{"item": "fault latch", "ok": False, "found": "18", "allowed": "none"}]
    show(checks=made, checks_t_s=1e9, state="armed")
    viewer.until("status", lambda status: status["state"] == "armed")
    assert browser.json("/api/check") == {"source": "arming", "checks": made, "t": 1e9}


def test_a_run_is_listed_and_its_files_are_served(browser, runs):
    run = runs / "run_1"
    run.mkdir()
    (run / "summary.json").write_text(json.dumps({"accepted": True, "peak_force_N": 87.5}))
    (run / "trial.png").write_bytes(b"picture")
    (run / "report.html").write_text("<script>1</script>")
    (listed,) = browser.json("/api/runs")
    assert (listed["name"], listed["state"], listed["numbers"]["peak_force_N"]) == ("run_1", "done", 87.5)
    assert browser.get("/api/runs/run_1/figure.png").body == b"picture"
    assert browser.json("/api/runs/run_1/summary.json")["accepted"]
    assert browser.get("/api/runs/run_1/trial.h5").status == 404
    assert browser.get("/api/runs/run_1/record/impact").status == 404


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("timing", 200), ("traces?series=speed_mps", 200), ("mat", 200), ("traces?series=no_such_series", 404),
        ("traces?series=--help", 404), ("secret", 404), ("csv", 404), ("replay", 200),
        ("replay?from_s=4.1&to_s=--help", 404), ("replay?from_s=4.1", 404),
    ],
)  # fmt: skip
def test_only_what_the_page_shows_of_a_record_can_be_asked_for(browser, served, runs, asked, status):
    (runs / "run_1").mkdir()
    (runs / "run_1" / "trial.h5").touch()
    served.prints_records()
    answer = browser.get(f"/api/runs/run_1/record/{asked}")
    assert answer.status == status
    if status == 200:
        assert answer.body.decode().split()[1:] == asked.replace("?series=", " ").split()
    assert ("attachment" in answer.headers.get("content-disposition", "")) == (asked == "mat")


def test_a_replay_of_a_time_is_asked_for_in_seconds(browser, served, runs):
    (runs / "run_1").mkdir()
    (runs / "run_1" / "trial.h5").touch()
    served.prints_records()
    answer = browser.get("/api/runs/run_1/record/replay?from_s=4.1&to_s=5")
    assert answer.body.decode().split()[1:] == ["replay@4.100000000:5.000000000"]


def test_the_scripts_of_a_report_run_as_those_of_nobody(browser, runs):
    (runs / "campaign_1").mkdir()
    (runs / "campaign_1" / "report.html").write_text("<script>1</script>")
    policy = browser.get("/api/runs/campaign_1/report.html").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in policy


def test_an_operator_writes_a_note_and_tags_on_a_run_without_the_lease(browser, runs, rig):
    (runs / "run_1").mkdir()
    (runs / "run_1" / "trial.h5").write_bytes(b"record")
    path = "/api/runs/run_1/annotation"
    answer = browser.request("POST", path, json.dumps({"note": "slipped", "add": ["good", "bad"]}))
    assert json.loads(answer.body) == {"note": "slipped", "tags": ["bad", "good"]}
    answer = browser.request("POST", path, json.dumps({"remove": ["bad"]}))
    assert json.loads(answer.body) == {"note": "slipped", "tags": ["good"]}
    (listed,) = browser.json("/api/runs")
    assert (listed["note"], listed["tags"]) == ("slipped", ["good"])
    assert (runs / "run_1" / "trial.h5").read_bytes() == b"record"
    assert (rig.commands(), rig.lease()) == ([], None)


def test_a_note_of_a_stranger_from_elsewhere_or_of_no_run_is_refused(browser, browsers, runs):
    (runs / "run_1").mkdir()
    (runs / "run_1" / "trial.h5").touch()
    path, note = "/api/runs/run_1/annotation", json.dumps({"note": "x"})
    assert browsers().request("POST", path, note).status == 401
    assert browser.request("POST", path, note, Origin="http://rig.example").status == 403
    assert browser.request("POST", "/api/runs/run_2/annotation", note).status == 404
    for body in ("{", '{"tags": ["x"]}', '{"add": ["a,b"]}', json.dumps({"note": "x" * 2001})):
        assert browser.request("POST", path, body).status == 400, body
    assert browser.request("POST", path, json.dumps({"note": "x" * 20_001})).status == 413
    assert not (runs / "run_1" / "annotation.json").exists()


def test_frames_of_a_camera_are_listed_and_served_and_nothing_else_of_their_folder(browser, browsers, runs):
    folder = runs / "run_1" / "camera"
    folder.mkdir(parents=True)
    (runs / "run_1" / "trial.h5").touch()
    assert browser.json("/api/runs/run_1/camera/frames") == []
    (folder / "frames.csv").write_text("t_ns,sequence,file,time_from\n250000000,7,000000.jpg,camera\n")
    (folder / "000000.jpg").write_bytes(b"frame")
    (folder / "secret").write_text("secret")
    (folder / "000001.jpg").symlink_to(folder / "secret")
    assert browser.json("/api/runs/run_1/camera/frames") == [[0.25, "000000.jpg"]]
    assert browser.get("/api/runs/run_1/camera/000000.jpg").body == b"frame"
    for file in ("secret", "000001.jpg", "000002.jpg", "..%2ftrial.h5"):
        assert browser.get(f"/api/runs/run_1/camera/{file}").status == 404, file
    assert browsers().get("/api/runs/run_1/camera/000000.jpg").status == 401
