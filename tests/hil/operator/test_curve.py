"""Key files: made for their owner only, never written over, and refused where others could read or add them."""

from __future__ import annotations

import os

import pytest

from hil.operator.curve import KeysError, allowed_clients, new_keys, read_key_pair, read_public_key


def test_a_new_key_pair_can_be_read_back_and_its_secret_part_by_its_owner_only(tmp_path):
    mask = os.umask(0)  # nothing depends on it
    try:
        public, secret = new_keys("anna", tmp_path / "keys")
    finally:
        os.umask(mask)
    assert (public.name, secret.name) == ("anna.key", "anna.key_secret")
    assert secret.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert read_key_pair(secret).public == read_public_key(public)
    assert read_key_pair(secret).secret.decode() not in public.read_text()


def test_each_pair_is_another_one(tmp_path):
    assert len({read_public_key(new_keys(f"n{number}", tmp_path)[0]) for number in range(5)}) == 5


def test_a_key_is_never_written_over(tmp_path):
    _, secret = new_keys("anna", tmp_path)
    before = secret.read_bytes()
    with pytest.raises(KeysError, match="a key is never written over"):
        new_keys("anna", tmp_path)
    assert secret.read_bytes() == before


@pytest.mark.parametrize("name", ["", "../anna", "a/b", "x" * 31, "two words", "a\n", "ä"])
def test_a_name_that_is_no_plain_file_name_is_refused(tmp_path, name):
    with pytest.raises(KeysError, match=r"name .* allowed: 1 to 30 of letters"):
        new_keys(name, tmp_path / "keys")
    assert not (tmp_path / "keys").exists()


def test_a_name_of_thirty_letters_is_taken(tmp_path):
    public, _ = new_keys("x" * 30, tmp_path)
    assert public.is_file()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_secret_key_that_others_can_read_is_refused(tmp_path, mode):
    _, secret = new_keys("anna", tmp_path)
    secret.chmod(mode)
    with pytest.raises(KeysError, match="chmod 600"):
        read_key_pair(secret)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"curve\n",
        b"\xff" * 100,
        b'curve\n    public-key = "short"\n',
        b'curve\n    secret-key = "x"\n',
        b"\0" * 50,
    ],
)
def test_a_file_that_is_no_key_is_named(tmp_path, content):
    file = tmp_path / "anna.key_secret"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(KeysError, match=r"anna\.key_secret: .*allowed: a file NAME\.key_secret"):
        read_key_pair(file)
    with pytest.raises(KeysError, match=r"allowed: a file NAME\.key of"):
        read_public_key(file)


def test_a_missing_key_is_named(tmp_path):
    with pytest.raises(KeysError, match=r"no\.key_secret"):
        read_key_pair(tmp_path / "no.key_secret")
    with pytest.raises(KeysError, match=r"no\.key"):
        read_public_key(tmp_path / "no.key")


def test_a_public_file_is_no_secret_key(tmp_path):
    public, _ = new_keys("anna", tmp_path)
    public.chmod(0o600)
    with pytest.raises(KeysError, match="a public key only"):
        read_key_pair(public)


def test_two_keys_that_do_not_belong_together_are_refused(tmp_path):
    (_, one), (_, other) = new_keys("one", tmp_path), new_keys("other", tmp_path)
    lines = one.read_text().splitlines()[:2] + other.read_text().splitlines()[2:]
    one.write_text("\n".join(lines))
    with pytest.raises(KeysError, match="do not belong together"):
        read_key_pair(one)


def test_allowed_clients_are_the_public_keys_of_the_folder(tmp_path):
    folder = tmp_path / "clients"
    folder.mkdir(mode=0o700)
    public, _ = new_keys("anna", tmp_path)
    (folder / "anna.key").write_bytes(public.read_bytes())
    (folder / "README").write_text("not a key")
    assert allowed_clients(folder) == {read_public_key(public): "anna"}


def test_a_folder_that_others_can_write_to_is_refused(tmp_path):
    folder = tmp_path / "clients"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(KeysError, match="other users can write to it"):
        allowed_clients(folder)


def test_a_missing_folder_and_a_damaged_key_in_it_are_named(tmp_path):
    with pytest.raises(KeysError, match="No such file"):
        allowed_clients(tmp_path / "clients")
    (tmp_path / "anna.key").write_text("nonsense")
    tmp_path.chmod(0o700)
    with pytest.raises(KeysError, match=r"anna\.key"):
        allowed_clients(tmp_path)
