"""The page server has a process of its own: it can be lost and started again, and takes its token with it."""

from __future__ import annotations

import http.client
import re
import stat
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from drivers.extensions import install_command
from drivers.interfaces import DeviceError
from hil.app.page import server as server_module
from hil.app.page.server import PageServer
from hil.app.server_process import CommandServer
from hil.config import load_config
from hil.config.rig import Rig
from hil.operator.curve import new_keys


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "rover-hil"


@pytest.fixture
def page(tmp_path):
    config = load_config("sim_impact")
    with (
        CommandServer(config.operator, config.name) as commands,
        PageServer(Rig(config), commands.endpoint, commands.token_file, tmp_path) as one,
    ):
        yield one


def session(page):
    """The cookie of a session that the printed address opens; "": it opens none any more."""
    url = urlsplit(page.url)
    connection = http.client.HTTPConnection(url.netloc)
    fields = urlencode({"token": url.fragment.removeprefix("token="), "name": "Ada"})
    connection.request("POST", "/login", fields, {"Origin": f"http://{url.netloc}"})
    cookie = connection.getresponse().headers.get("set-cookie", "").partition(";")[0]
    connection.close()
    return cookie


def viewer(page, cookie):
    return connect(
        f"ws://{page.address}/ws",
        origin=f"http://{page.address}",
        additional_headers={"Cookie": cookie},
        compression=None,
        open_timeout=60.0,
    )


def until_closed(socket):
    """What ends a connection."""
    with suppress(ConnectionClosed):
        while True:
            socket.recv()


def viewer_after_all(page, cookie):
    """A viewer, as soon as the server is there."""
    while True:
        with suppress(OSError):
            return viewer(page, cookie)


@pytest.mark.slow
def test_a_page_server_that_was_killed_starts_again_by_itself_at_the_same_address_and_sessions_go_on(page, killed):
    cookie, address = session(page), page.address
    with viewer(page, cookie) as socket:
        assert '"type":"status"' in socket.recv()
        killed(page)
        until_closed(socket)
    with viewer_after_all(page, cookie) as socket:
        assert '"type":"status"' in socket.recv()
    assert (page.alive, page.address) == (True, address)
    assert session(page) == "", "the printed address opens one session, whatever became of the server"


@pytest.mark.slow
def test_without_the_process_above_it_a_page_server_ends_and_both_can_be_started_again(page, killed):
    cookie, address = session(page), page.address
    with viewer(page, cookie) as socket:
        killed(page, supervisor=True)
        until_closed(socket)
    while True:
        with suppress(DeviceError):  # the server needs a moment to let go of its port
            page.restart()
            break
    assert page.address == address
    with viewer(page, cookie) as socket:
        assert '"type":"status"' in socket.recv()


@pytest.mark.slow
def test_a_polite_kill_ends_it_while_a_viewer_looks_on(page):
    with viewer(page, session(page)) as socket:
        socket.recv()
        assert page._process.end(60.0)  # it was there, and ended with exit status 0
        until_closed(socket)


@pytest.mark.slow
def test_only_its_owner_can_read_token_and_settings_and_they_go_with_it(root, tmp_path):
    config = load_config("sim_impact")
    with (
        CommandServer(config.operator, config.name) as commands,
        PageServer(Rig(config), commands.endpoint, commands.token_file, tmp_path) as page,
    ):
        folder = page.token_file.parent
        assert stat.S_IMODE(page.token_file.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert page.token_file.read_text() != commands.token_file.read_text()
    assert list(root.iterdir()) == []


@pytest.mark.slow
def test_a_port_in_use_is_an_error_in_a_sentence_and_leaves_nothing(page, root):
    before = sorted(root.iterdir())
    config = load_config("sim_impact", [f"operator.page.address={page.address}"])
    with pytest.raises(
        DeviceError, match=r"page server: operator\.page\.address is .*: Address already in use; allowed"
    ):
        PageServer(Rig(config), "tcp://127.0.0.1:1", page.token_file, root)
    assert sorted(root.iterdir()) == before


def test_without_the_packages_it_says_how_to_install_them(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "_NEEDED", ("starlette", "no_such_package"))
    with pytest.raises(DeviceError, match=re.escape(f"--page needs no_such_package: {install_command('page')}")):
        PageServer(Rig(load_config("sim_impact")), "tcp://127.0.0.1:1", None, tmp_path)


@pytest.mark.slow
def test_where_clients_need_keys_the_page_needs_one_too(tmp_path):
    _, secret = new_keys("rig", tmp_path / "keys")
    public, own = new_keys("page", tmp_path / "keys")
    (tmp_path / "clients").mkdir(mode=0o700)
    (tmp_path / "clients" / "page.key").write_bytes(public.read_bytes())
    keys = f"operator.keys={{secret: {secret}, clients: {tmp_path / 'clients'}}}"
    with pytest.raises(DeviceError, match=r"operator\.page\.client_key is null"):
        PageServer(Rig(load_config("sim_impact", [keys])), "tcp://127.0.0.1:1", None, tmp_path)
    config = load_config("sim_impact", [keys, f"operator.page.client_key={own}"])
    with (
        CommandServer(config.operator, config.name) as commands,
        PageServer(Rig(config), commands.endpoint, None, tmp_path) as page,
        viewer(page, session(page)) as socket,
    ):
        while '"command_server":true' not in socket.recv():
            pass


@pytest.mark.slow
def test_a_certificate_that_is_none_is_an_error_in_a_sentence(tmp_path):
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    config = load_config("sim_impact", [f"operator.page.certificate={wrong}", f"operator.page.certificate_key={wrong}"])
    with pytest.raises(DeviceError, match=r"operator\.page\.certificate is .*wrong\.pem"):
        PageServer(Rig(config), "tcp://127.0.0.1:1", _token(tmp_path), tmp_path)


def _token(folder):
    file = folder / "token"
    file.write_text("0" * 64)
    file.chmod(0o600)
    return file
