"""The page for other computers: over TLS with a certificate of its own, and in no other way."""

from __future__ import annotations

import http.client
import shutil
import socket
import ssl
import subprocess
from urllib.parse import urlencode, urlsplit

import pytest
from websockets.sync.client import connect

from hil.app.page.server import PageServer
from hil.app.server_process import CommandServer
from hil.config import load_config
from hil.config.rig import Rig
from hil.operator.curve import new_keys

OPENSSL = shutil.which("openssl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """For keys, certificate and runtime files."""
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def certificate(folder):
    """A certificate of this computer, signed by itself, and its key: made as the how-to says."""
    if OPENSSL is None:
        pytest.skip("no openssl on this machine (Debian: apt install openssl)")
    certificate, key = folder / "rig.crt", folder / "rig.pem"
    subprocess.run(
        [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=rig", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


@pytest.fixture(scope="module")
def page(folder, certificate):
    """A page that other computers reach: at all addresses of this one."""
    _, secret = new_keys("rig", folder / "keys")
    public, own = new_keys("page", folder / "keys")
    clients = folder / "clients"
    clients.mkdir(mode=0o700)
    shutil.copy(public, clients / "page.key")
    settings = [
        f"operator.keys={{secret: {secret}, clients: {clients}}}", "operator.page.address=0.0.0.0:*",
        f"operator.page.certificate={certificate[0]}", f"operator.page.certificate_key={certificate[1]}",
        f"operator.page.client_key={own}",
    ]  # fmt: skip
    config = load_config("sim_impact", settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        with (
            CommandServer(config.operator, config.name) as commands,
            PageServer(Rig(config), commands.endpoint, None, folder) as one,
        ):
            yield one


@pytest.fixture(scope="module")
def address(page):
    """Where it is reached from here."""
    return f"127.0.0.1:{urlsplit(page.url).port}"


@pytest.fixture(scope="module")
def trusted(certificate):
    """Knows the certificate, and accepts no other."""
    return ssl.create_default_context(cafile=certificate[0])


@pytest.mark.slow
def test_it_logs_in_and_shows_the_rig_to_a_browser_that_knows_its_certificate(page, address, trusted):
    url = urlsplit(page.url)
    assert url.scheme == "https"
    connection = http.client.HTTPSConnection(address, context=trusted)
    connection.request("GET", "/")
    form = connection.getresponse()
    assert (form.status, b'action="/login"' in form.read()) == (401, True)
    fields = urlencode({"token": url.fragment.removeprefix("token="), "name": "Ada"})
    connection.request("POST", "/login", fields, {"Origin": f"https://{address}"})
    cookie = connection.getresponse().headers["set-cookie"]
    connection.close()
    assert "; Secure" in cookie
    with connect(
        f"wss://{address}/ws", ssl=trusted, origin=f"https://{address}", compression=None,
        additional_headers={"Cookie": cookie.partition(";")[0]}, open_timeout=60.0,
    ) as viewer:  # fmt: skip
        while '"command_server":true' not in viewer.recv():
            pass


@pytest.mark.slow
def test_without_tls_it_answers_nothing(page, address):
    host, port = address.split(":")
    with socket.create_connection((host, int(port))) as plain:
        plain.sendall(f"GET / HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        answer = b""
        try:
            while part := plain.recv(4096):
                answer += part
        except ConnectionResetError:
            pass
    assert b"HTTP" not in answer
    assert b"<" not in answer


@pytest.mark.slow
def test_a_browser_that_does_not_know_its_certificate_is_not_connected(page, address):
    connection = http.client.HTTPSConnection(address, context=ssl.create_default_context())
    with pytest.raises(ssl.SSLCertVerificationError):
        connection.request("GET", "/")
    connection.close()
