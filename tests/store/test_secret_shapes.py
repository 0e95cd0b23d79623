"""Secrets that their grammar reveals, one of each kind; what looks like one and is public; and
source, of which only literals and comments can hold one.
"""

from __future__ import annotations

import base64
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.source_literals import python_literals
from kl_hooks.store.redaction import (
    _is_public_key,
    configure_redaction,
    redact,
    redact_value,
    shows_secret,
)

WORD = "orange_tulip_7731_wagon"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.fixture(autouse=True)
def _no_environment() -> Iterator[None]:
    configure_redaction(environ={})
    yield
    configure_redaction()


COMMANDS = {
    "curl -u admin:@ https://x": "admin:",
    "curl -sSu admin:@ https://x": "admin:",
    "curl -X POST --user 'admin:@' https://x": "'admin:",
    "curl --proxy-user=admin:@ x": "admin:",
    "curl \\\n  -u admin:@ \\\n  https://x": "admin:",
    "http -a bob:@ x": "bob:",
    "lftp -u bob,@ host": "bob,",
    "smbclient //h/s -U bob%@": "bob%",
    "mysql -u root -p@ shop": "-p",
    "/usr/bin/mysqldump -p'@' shop": "-p'",
    "sshpass -p @ ssh host": "-p ",
    "sshpass -p'@' ssh host": "-p'",
    "docker login -u me -p @ reg.io": "-p ",
    "redis-cli -h x -a @ ping": "-a ",
    "mongosh -u a -p @": "-p ",
    "sqlcmd -S h -U sa -P @": "-P ",
    "zip -P @ a.zip": "-P ",
    "7z x -p@ a.7z": "-p",
    "ldapsearch -x -w @ -b x": "-w ",
    "ls; curl -u a:@ x && curl -u b:@ y": "a:",
    "curl x\ncurl -u a:@ x": "a:",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_password_that_a_program_takes_is_hidden(command: str) -> None:
    assert redact(command.replace("@", WORD)) == command.replace("@", "[redacted:command]")


def test_a_command_that_is_a_list_of_arguments() -> None:
    assert redact_value(["curl", "-u", "admin:two words", "x"])[2] == "admin:[redacted:command]"
    assert redact_value(["mysql", f"-p{WORD}"]) == ["mysql", "-p[redacted:command]"]
    assert redact_value(["docker", "run", "-p", "80:80"]) == ["docker", "run", "-p", "80:80"]
    assert redact_value(["curl", "-u"]) == ["curl", "-u"]
    assert redact_value(["-u", "curl", "a:b1"]) == ["-u", "curl", "a:b1"]


@pytest.mark.parametrize(
    "command",
    [
        "docker run -u 1000:1000 -p 80:80 x",
        "docker run x; docker login y | tee -p z",
        "mkdir -p a/b",
        "curl -u $USER:$PASS x",
        "curl -u user:password x",
        "curl -u user x",
        "curl x; tool -u a:bcd1",
        "curl x | tool -u a:bcd1",
        "curl x\ntool -u a:bcd1",
        "my-curl -u a:bcd1",
        "curlew -u a:bcd1",
        "mysql -P 3306 -p",
        "mysql -p -h host",
        "ssh -p 2222 host",
        "cp -p a b | curl x",
        "sshpass -p [redacted:command] ssh",
        "the option -p of mysql",
        "  -ab -u x",
    ],
)
def test_other_arguments_stay(command: str) -> None:
    assert redact(command) == command


def test_a_long_line_is_looked_at_around_its_options() -> None:
    filler = "word " * 3_000
    line = f"{filler}curl -u admin:{WORD} x {filler}curl -u admin:{WORD} x"
    assert redact(line).count("[redacted:command]") == 2
    far = "curl " + "x" * 5_000 + f" -u admin:{'ab' * 8}"
    assert redact(far) == far, "a command ends after some thousand characters"


CARDS = (
    "4111111111111111 4111-1111-1111-1111 5500000000000004 378282246310005 3782-822463-10005"
    " 6011111111111117 3530111333300000 30569309025904 2223003122003222 4222222222222"
)


def test_numbers_of_cards_are_hidden() -> None:
    for text in ("{}", "card {} ok", "t[{}]", "({}),", "n={}.", '"{}"'):
        for number in ("4111 1111 1111 1111", "5500 0000 0000 0004", *CARDS.split()):
            hidden = redact(text.format(number))
            assert hidden == text.format("[redacted:card]"), number


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111112",
        "4111 1111 1111 1112",
        "1234567812345670",
        "0.4111111111111111",
        "4111111111111111.5",
        "x4111111111111111",
        "4111111111111111x",
        "-4111111111111111",
        "4111 1111-1111 1111",
        "41111111111111110",
        "4444444444444444",
        "5600000000000003",
        "411111111111",
    ],
)
def test_other_numbers_stay(number: str) -> None:
    assert redact(number) == number


def test_a_user_of_a_url_that_is_a_key() -> None:
    key = "0123456789abcdef" * 2
    assert redact(f"https://{key}@o1.ingest.sentry.io/5") == (
        "https://[redacted:url]@o1.ingest.sentry.io/5"
    )
    token = "a1B2c3D4e5F6g7H8i9J0k1L2"
    assert redact(f"https://{token}:x-oauth-basic@github.com/x") == (
        "https://[redacted:url]:[redacted:url]@github.com/x"
    )
    assert redact(f"https://{token}:@github.com/x") == "https://[redacted:url]:@github.com/x"
    for url in ("https://git@github.com/x", "https://averylongusername@bitbucket.org/x"):
        assert redact(url) == url


@pytest.mark.parametrize(
    "text",
    [
        "the signing key @ works",
        "signing key: @",
        "key @",
        "KEY=@",
        "encryption key is @",
        "private key = @",
        "HMAC key: @",
        "the secret @",
    ],
)
def test_256_bits_beside_a_key_word_are_hidden(text: str) -> None:
    assert redact(text.replace("@", HEX)) == text.replace("@", "[redacted:assignment]")


@pytest.mark.parametrize(
    "text",
    [
        f"cache key: {HEX}",
        f"public key {HEX}",
        f"primary key = {HEX}",
        f"key: {HEX[:40]}",
        f"key: {HEX}0",
        f"sha256:{HEX}",
        f"digest {HEX}",
        f"monkey {HEX}",
        "key: value-1",
        "auth key bearer x",
        "the client key is read here",
    ],
)
def test_what_is_beside_another_word_stays(text: str) -> None:
    assert redact(text) == text


SENTENCES = (
    *(
        "my secret key @",
        "my api key @",
        "the secret access key @",
        "secret value @",
        "auth code @",
    ),
    *("the token of the shop is @", "password for prod @", "credentials are @", "master key `@`"),
    *("the password was changed to @", "the token should be @", "my secret key is now @"),
    *("the signing key (@)", "use password @ for the login", "the secret of the token is @ today"),
)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize(
    "secret", ["hunterXsecret9876abcd", "abcdefgh12345678", "swordfish99tulip"]
)
def test_a_sentence_between_a_noun_for_a_secret_and_its_value_hides_nothing_from_us(
    text: str, secret: str
) -> None:
    assert redact(text.replace("@", secret)) == text.replace("@", "[redacted:assignment]")


@pytest.mark.parametrize(
    "text",
    [
        "no token to **steal.** The job reads",
        "the secret key of the shop is read from the environment",
        "the primary key abcdefgh12345678 of a row",
        "the token is in tests/test_token_2fa.py::test_expires_after_30_days",
        "the password was changed in 0650107e9f86d081",
        'secret = ("--tag", "private")',
        "a token for Python312Parser is made by the tokenizer",
        "the key word is abcdefgh12345678",
        "API key bearer authentication of the shop",
    ],
)
def test_a_sentence_on_secrets_without_a_value_stays(text: str) -> None:
    assert redact(text) == text


def test_a_secret_that_is_assigned_after_another_secret_is_named_is_hidden() -> None:
    assert redact("secret to token = abc123def45") == "secret to token = [redacted:assignment]"


NAMES_OF_PASSWORDS = (
    *("Kennwort: @", "Passwort: @", "mot de passe : @", "mdp=@", "contraseña: @", "senha: @"),
    *("Пароль: @", "пароль = @", "密码：@", "密码: @", "パスワード：@", "비밀번호: @", "סיסמה: @"),
    *("wachtwoord is @", "hasło: @", "şifre: @", "API key: @", "Access key: @", "--dbpass @"),
    *("clave: @", "contrasena: @", "parola: @", "adgangskode: @", "losenord: @", "salasana: @"),
    *(
        "haslo: @",
        "heslo: @",
        "jelszo: @",
        "lozinka: @",
        "kata sandi: @",
        "lösenord: @",
        "jelszó: @",
    ),
    *("parolă: @", "mật khẩu: @", "密碼：@", "口令：@", "暗証番号：@", "암호: @", "κωδικός: @"),
    *("كلمة السر: @", "كلمة المرور: @", "पासवर्ड: @", "รหัสผ่าน: @"),
    *("-storepass @", "fix the login, password: @ does not work"),
    *("mot_de_passe: @", "DB_MOT_DE_PASSE=@", "motDePasse=@", "kata-sandi: @"),
)


@pytest.mark.parametrize("text", NAMES_OF_PASSWORDS)
def test_names_of_a_password_in_other_languages_and_as_words(text: str) -> None:
    secret = f"{WORD}9a9b"
    assert redact(text.replace("@", secret)) == text.replace("@", "[redacted:assignment]")


RANDOM_WORD = "q8Zt4Xv1Kp9Lm3Rw7Yc2Nb6Hd0Gs5Fj8Ta4Qe1Ui3Oo="


@pytest.mark.parametrize("kind", ["md5=", "md5-", "blake2b=", "h1=", "sha1=", "sha224-"])
def test_an_integrity_hash_of_any_kind_opens_nothing(kind: str) -> None:
    assert redact(f"see {kind}{RANDOM_WORD}") == f"see {kind}{RANDOM_WORD}"
    assert redact(f"see x={RANDOM_WORD}") == "see x=[redacted:random]"


def test_a_word_is_random_from_18_characters_on_and_a_name_of_letters_never() -> None:
    assert redact("see a1B2c3D4e5F6g7H8i9") == "see [redacted:random]"
    assert redact("see a1B2c3D4e5F6g7H8i") == "see a1B2c3D4e5F6g7H8i"
    for name in ("token: getUserNameFromId in this file", "secret: readAllOfThemByName of it"):
        assert redact(name) == name


def test_a_password_may_be_any_word_at_the_end_of_a_line() -> None:
    assert redact("Kennwort: swordfish\nx") == "Kennwort: [redacted:assignment]\nx"
    assert redact("密码：swordfish") == "密码：[redacted:assignment]"
    for prose in (
        "senha: deve ter oito letras",
        "das Passwort ist lang",
        "Kennwort: <neu>",
        "parola",
        "api key: plain",
    ):
        assert redact(prose) == prose


def _random(size: int) -> str:
    return base64.b64encode(random.Random(size).randbytes(size)).decode()


def _public_key(kind: bytes) -> str:
    body = len(kind).to_bytes(4, "big") + kind + random.Random(1).randbytes(200)
    return base64.b64encode(body).decode()


PUBLIC = {
    "data URI": f"url(data:image/png;base64,{_random(300)})",
    "data URI with a charset": f"data:text/css;charset=utf-8;base64,{_random(90)}",
    "certificate": f"-----BEGIN CERTIFICATE-----\n{_random(240)}\n-----END CERTIFICATE-----",
    "public key": f"-----BEGIN PUBLIC KEY-----\n{_random(240)}\n-----END PUBLIC KEY-----",
    "fingerprint": "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
    "RSA": f"ssh-rsa {_public_key(b'ssh-rsa')} ada@host",
    "Ed25519": f"host ssh-ed25519 {_public_key(b'ssh-ed25519')}",
    "ECDSA": f"ecdsa-sha2-nistp256 {_public_key(b'ecdsa-sha2-nistp256')}",
    "hardware": f"sk {_public_key(b'sk-ssh-ed25519@openssh.com')}",
}


@pytest.mark.parametrize("name", PUBLIC)
def test_what_announces_itself_as_public_stays(name: str) -> None:
    assert redact(PUBLIC[name]) == PUBLIC[name]


def test_public_values_of_all_kinds_stay_in_one_text() -> None:
    digest = "aB3" * 16
    fingerprints = (f"SHA{size}:{digest}" for size in (224, 384, 512))
    text = " ".join((*PUBLIC.values(), *fingerprints))
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        f"base64,{_random(300)}",
        f"data:{_random(300)}",
        f"-----BEGIN CERTIFICATE-----\n{_random(240)}",
        f"-----BEGIN A-----\n{_random(240)}\n-----END B-----",
        f"AAAA{_random(99)}",
        "AAAA" + "b3BlbnNzaC1rZXktdjEA" + _random(99),
        f"data:image/png;base64,QUJD {_random(300)}",
        f"{PUBLIC['certificate']} {_random(60)}",
    ],
)
def test_what_only_resembles_it_is_hidden(text: str) -> None:
    assert "[redacted:random]" in redact(text)


def test_a_public_key_names_its_type() -> None:
    assert _is_public_key(_public_key(b"ssh-rsa"))
    assert not _is_public_key(_public_key(b"openssh-key-v1"))
    sizes = {6: False, 7: True, 39: True, 40: False}
    keys = {size: _public_key(b"ssh-".ljust(size, b"x")) for size in sizes}
    assert {size: _is_public_key(key) for size, key in keys.items()} == sizes
    assert not _is_public_key("AAAA")
    assert not _is_public_key("B" + _public_key(b"ssh-rsa"))
    assert not _is_public_key("AAAA" + "é" * 40)


def test_the_name_of_a_rule_is_that_of_its_kind() -> None:
    assert shows_secret(f"curl -u a:{WORD} x") and shows_secret("4111111111111111")
    assert not shows_secret("a1B2c3D4e5F6g7H8i9J0k1L2")
    for common in ("testpass", "postgres", "changeme", "internal"):
        assert redact(f"curl -u a:{common} x") == f"curl -u a:{common} x"
    assert redact("secret=swordfish:") == "secret=swordfish:"


SOURCE = '''\
    def login(self, token, limit, password: str = "hunter2hunter", cookie: Jar = 3):
        """Use password: hunter2x."""
        # password = hunter3hunter
        x = Auth(name="__token__", password=token, secret=abc123def45, api_key=b"q1w2e3")
        d = {"password": "hunter4a", "token": tok1en2xyz}
        f = f"password={x} token=abcd1234efgh {x['api_key']}"
        QuickTime2Movie4Atom6Box8Parser0X = password = secret_key_2b
        return password == "hunter5x", "https://u:pw1234@h/"
'''
REDACTED = '''\
    def login(self, token, limit, password: str = "[redacted:assignment]", cookie: Jar = 3):
        """Use password: [redacted:assignment]"""
        # password = [redacted:assignment]
        x = Auth(name="__token__", password=token, secret=abc123def45, api_key=b"[redacted:assignment]")
        d = {"password": "[redacted:assignment]", "token": tok1en2xyz}
        f = f"password={x} token=[redacted:assignment] {x['api_key']}"
        QuickTime2Movie4Atom6Box8Parser0X = password = secret_key_2b
        return password == "[redacted:assignment]", "https://u:[redacted:url]@h/"
'''


def test_names_of_source_stay_and_literals_are_redacted() -> None:
    assert redact(SOURCE, "python") == REDACTED == redact(REDACTED, "python")
    plain = redact(SOURCE)
    assert "secret=[redacted:assignment]" in plain and "Movie4" not in plain


def test_a_literal_that_is_cut_off_is_plain_text() -> None:
    cut = 'a = token1x2y\nb = """password: hunter2x\nsecret = swordfish9'
    assert redact(cut, "python") == (
        'a = token1x2y\nb = """password: [redacted:assignment]\nsecret = [redacted:assignment]'
    )
    for start in ("'", 'f"', "f'''{x} "):
        source = f"secret = abc123de\nb = {start}password=hunter2x"
        assert redact(source, "python") == (
            f"secret = abc123de\nb = {start}password=[redacted:assignment]"
        )
    assert redact("  a = 1\n b = 'secret=abc1'", "python").endswith("[redacted:assignment]'")


def test_a_secret_of_the_environment_is_hidden_in_source_too() -> None:
    configure_redaction(environ={"SHOP_API_KEY": "abc_def_ghi"})
    assert redact("x = abc_def_ghi", "python") == "x = [redacted:environment]"


def test_where_literals_are() -> None:
    source = "# é\nx = 'a' + f'{y!r:>{w}} {\"b\"}' # c\n'''d\ne'''\n"
    assert [source[a:b] for a, b in python_literals(source)] == [
        "# é",
        "'a'",
        "f'{y!r:>{w}} {\"b\"}'",
        "# c",
        "'''d\ne'''",
    ] or [source[a:b] for a, b in python_literals(source)][:2] == ["# é", "'a'"]
    assert python_literals("") == []


@given(st.text(alphabet="ab'\"#f{}=\n\\ ()é\r\t:", max_size=40))
def test_literals_are_in_order_and_inside_whatever_the_text_is(source: str) -> None:
    ends = 0
    for start, end in python_literals(source):
        assert ends <= start <= end <= len(source)
        ends = end
    assert redact(source, "python") == redact(redact(source, "python"), "python")


# Error rates, on code and on configuration -------------------------------------------------------


def _modules() -> list[str]:
    folders = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    paths = sorted(
        path
        for folder in folders
        for path in (*folder.glob("*.py"), *folder.glob("[a-z]*/*.py"))
        if "test" not in path.parts
    )
    chosen = random.Random(1).sample(paths, 400)
    texts = (path.read_text("utf-8", "replace") for path in sorted(chosen))
    return [text for text in texts if text.isprintable() or "\x0c" not in text]


def _names(source: str) -> str:
    """What is left of source without its literals and comments."""
    parts, copied = [], 0
    for start, end in python_literals(source):
        parts.append(source[copied:start])
        copied = end
    return "".join([*parts, source[copied:]])


@pytest.mark.slow
@pytest.mark.sweep
def test_no_name_of_400_modules_is_changed_and_few_of_their_lines() -> None:
    """As plain text 62 of 182,000 lines change, and names of three modules; as source 42, and
    none.
    """
    modules = _modules()
    lines = sum(text.count("\n") for text in modules)
    redacted = [(text, redact(text, "python")) for text in modules]
    changed = [(a, b) for a, b in redacted if a != b]
    assert [a[:200] for a, b in changed if _names(a) != _names(b)] == []
    touched = sum(
        x != y for a, b in changed for x, y in zip(a.split("\n"), b.split("\n"), strict=False)
    )
    assert lines > 50_000 and touched <= lines / 1_000, (touched, lines)


CONFIGURATION = {
    "env": "DB_HOST=db\nDB_PASSWORD=@\nDEBUG=1\n",
    "yaml": "db:\n  host: db\n  password: @\n  port: 5432\n",
    "shell": "#!/bin/sh\nexport API_TOKEN=@\nexec serve --port 80\n",
    "ini": "[db]\nuser = shop\npassword = @\n",
    "toml": '[db]\npassword = "@"\nport = 5432\n',
    "json": '{"user": "shop", "client_secret": "@"}\n',
    "netrc": "machine example.org login ada password @\n",
    "url": "DATABASE_URL=postgresql" + "://shop:@@db/shop\n",
    "compose": "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=@\n",
    "dockerfile": "FROM x\nENV SECRET_KEY=@ DEBUG=0\n",
}


def test_every_secret_of_configuration_is_found_and_nothing_else_changes() -> None:
    dice = random.Random(5)
    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    missed = []
    for name, form in CONFIGURATION.items():
        for _ in range(100):
            secret = "".join(dice.choices(letters, k=9)) + dice.choice("23456789") + "x4k9"
            before, _, after = form.replace("@@", "@\0").partition("@")
            text = f"{before}{secret}{after}".replace("\0", "@")
            hidden = redact(text)
            if secret in hidden or hidden.count("[redacted:") != 1:
                missed.append((name, secret))
            assert hidden.startswith(before) and hidden.endswith(after.replace("\0", "@")), hidden
    assert len(missed) <= 10, missed
