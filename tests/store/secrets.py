"""Synthetic secrets of many shapes, put together at run time so that no scanner finds one in this
repository.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"

Made = tuple[str, str]
"""A text, and the secret in it that must be removed."""


def _word(r: random.Random, alphabet: str, length: int) -> str:
    return "".join(r.choices(alphabet, k=length))


def _password(r: random.Random) -> str:
    return _word(r, ALNUM, 9) + r.choice("0123456789") + r.choice("abcxyz")


def _b64(r: random.Random, count: int) -> str:
    return base64.b64encode(r.randbytes(count)).decode()


def _jwt(r: random.Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(b'{"sub":"%d"}' % r.getrandbits(60)).decode().rstrip("=")
    return f"{head}.{body}.{_word(r, URLSAFE, 43)}"


def _token(*start: str, alphabet: str = ALNUM, length: int) -> Callable[[random.Random], Made]:
    def make(r: random.Random) -> Made:
        secret = "".join(start) + _word(r, alphabet, length)
        return r.choice(["{}", "see {} there", "E   assert x == '{}'", "[{}]", "x={}&y"]).format(
            secret
        ), secret

    return make


def _around(
    template: str, secret: Callable[[random.Random], str]
) -> Callable[[random.Random], Made]:
    def make(r: random.Random) -> Made:
        value = secret(r)
        return template.replace("@@", value), value

    return make


def _pem(r: random.Random, ended: bool) -> Made:
    kind = r.choice(["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "])
    body = [_b64(r, 48) for _ in range(6)]
    lines = [f"-----BEGIN {kind}PRIV" + "ATE KEY-----", *body]
    lines += [f"-----END {kind}PRIV" + "ATE KEY-----"] if ended else []
    return "log:\n" + "\n".join(lines), body[r.randrange(6)]


def _headless(r: random.Random) -> Made:
    body = [_b64(r, 48) for _ in range(3)]
    return "\n".join([*body, "-----END RSA PRIV" + "ATE KEY-----", "done"]), body[r.randrange(3)]


SHAPES: dict[str, Callable[[random.Random], Made]] = {
    "aws id": _token("AK", "IA", alphabet=UPPER, length=16),
    "aws temporary id": _token("AS", "IA", alphabet=UPPER, length=16),
    "aws secret": _around("AWS_SECRET_ACCESS_KEY=@@", lambda r: _b64(r, 30)),
    "github": _token("gh", "p_", length=36),
    "github server": _token("gh", "s_", length=36),
    "github fine-grained": _token("github", "_pat_", alphabet=ALNUM + "_", length=82),
    "gitlab": _token("gl", "pat-", alphabet=URLSAFE, length=20),
    "slack": lambda r: _token(
        "xo", f"xb-{r.randrange(10**11, 10**12)}-{r.randrange(10**11, 10**12)}-", length=24
    )(r),
    "openai": _token("s", "k-", length=48),
    "openai project": _token("s", "k-proj-", alphabet=URLSAFE, length=80),
    "anthropic": _token("s", "k-ant-", "api03-", alphabet=URLSAFE, length=93),
    "stripe": _token("sk", "_live_", length=24),
    "stripe restricted": _token("rk", "_live_", length=24),
    "google key": _token("AI", "za", alphabet=URLSAFE, length=35),
    "google oauth": _token("ya", "29.", alphabet=URLSAFE, length=60),
    "npm": _token("np", "m_", length=36),
    "pypi": _token("py", "pi-AgEIcHlwaS5vcmc", alphabet=URLSAFE, length=80),
    "digitalocean": _token("do", "p_v1_", alphabet=HEX, length=64),
    "huggingface": _token("h", "f_", alphabet=string.ascii_letters, length=34),
    "sendgrid": lambda r: _token("S", f"G.{_word(r, URLSAFE, 22)}.", alphabet=URLSAFE, length=43)(
        r
    ),
    "shopify": _token("shp", "at_", alphabet=HEX, length=32),
    "jwt": _around("got @@ back", _jwt),
    "pem": lambda r: _pem(r, True),
    "pem cut off": lambda r: _pem(r, False),
    "pem without beginning": _headless,
    "url password": _around("postgres" + "ql://bob:@@@db.example:5432/x", _password),
    "redis url": _around("redis" + "://:@@@localhost/0", _password),
    "bearer": _around("Authorization: Bearer @@", lambda r: _word(r, URLSAFE, 30)),
    "basic": _around("Authorization: Basic @@", lambda r: _b64(r, 15)),
    "curl header": _around("curl -H 'Authorization: token @@'", lambda r: _word(r, HEX, 40)),
    "shell": _around("export DB_PASSWORD=@@", _password),
    "env file": _around("FOO=1\nCLIENT_SECRET=@@\nBAR=2", _password),
    "hexadecimal key": _around("API_KEY=@@", lambda r: _word(r, HEX, 32)),
    "python": _around('password = "@@"', _password),
    "python dict": _around("{'user': 'bob', 'api_key': '@@'}", _password),
    "json": _around('{"user": "bob", "access_token": "@@"}', _password),
    "json in json": _around(r"{\"password\": \"@@\"}", _password),
    "yaml": _around("db:\n  password: @@\n  host: x", _password),
    "option": _around("mysql --password @@ -h db", _password),
    "option with sign": _around("tool --api-key=@@ run", _password),
    "said": _around("the password @@ works", _password),
    "query": _around("GET /x?token=@@&page=2", _password),
    "camel": _around('authToken: "@@"', _password),
    "cookie": _around("Cookie: session=@@; lang=de", _password),
    "random word": _around("value @@ seen", lambda r: _word(r, ALNUM, 40)),
    "random base64": _around("value @@ seen", lambda r: _b64(r, 48)),
    "test id": _around("tests/test_a.py::test_login[password=@@]", _password),
}
