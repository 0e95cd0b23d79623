"""The report as one page: a file that opens anywhere, without a network.

Every string of the report is hostile. The template escapes what it prints, the script puts text
into the page as text only, and the content security policy runs no script and no style but those
of this package, known by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.report.counts import counts_of

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER: Final = Path(__file__).parent
_SCRIPTS: Final = (
    "dom",
    "format",
    "address",
    "model",
    "table",
    "picture",
    "panels",
    "now",
    "proof",
    "floors",
    "map",
    "map_panels",
    "strip",
    "tests",
    "knowledge",
    "find",
    "main",
)
"""In the order in which they are joined: each uses only earlier ones when it is loaded."""
_LONGEST: Final = 300
"""Characters of a text that a page shows."""
_INVISIBLE: Final = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What changes how a text looks without being seen, such as the direction of writing."""


def render(report: dict[str, Any], *, live: str = "") -> str:
    """Return the page of a report (`kl.report/1`) as HTML.

    `live` is the version of the data: a page that has one asks its server for a newer
    one, and loads itself again. EnvironmentProblem where Jinja2 is not installed.
    """
    script = _script()
    libraries = _libraries()
    style = _text("style/page.css")
    connections = "'self'" if live else "'none'"
    policy = (
        f"default-src 'none'; script-src {_hash(libraries)} {_hash(script)};"
        f" style-src {_hash(style)}; connect-src {connections}; base-uri 'none'; form-action 'none'"
    )
    environment = _environment()
    from markupsafe import Markup, escape

    page = environment.get_template("page.html").render(
        report=report,
        policy=Markup(policy),
        style=Markup(style),
        libraries=Markup(libraries),
        library_records=library_records(),
        licenses=[(names, escape(text)) for names, text in _licenses()],
        script=Markup(script),
        data=Markup(script_data(report)),
        live=live,
    )
    return str(page)


def require_templates() -> None:
    """EnvironmentProblem where Jinja2 is not installed, before anything takes long."""
    _environment()


def script_data(report: dict[str, Any]) -> str:
    """Return the report as JSON for a script element: no `<` in it can end or open an element."""
    text = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
    # half of a surrogate pair is no text that a file can hold
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def visible(text: str) -> str:
    """Return a text as it is shown: what is invisible as its code, and no more than 300
    characters.
    """
    shown = _INVISIBLE.sub(lambda match: f"\\u{{{ord(match[0]):04x}}}", text[:_LONGEST])
    shown = shown.encode("utf-8", "replace").decode("utf-8")
    if len(text) > _LONGEST:
        return f"{shown}… ({len(text):,} characters)"
    return shown


@cache
def library_records() -> tuple[dict[str, Any], ...]:
    """Return package, version, license and size of each library of the page, as recorded."""
    return tuple(json.loads(_text("vendor/libraries.json")))


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise EnvironmentProblem(
            "Jinja2 is not installed.", place="kl report", hint='pip install "kl-hooks[report]"'
        ) from None
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "template"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"day": _day, "count": _count}
    environment.globals |= {
        "address": _address,
        "name_of": _name,
        "failing_tests": _failing_tests,
        "counts_of": counts_of,
        "forbidden_imports": _forbidden_imports,
    }
    return environment


def _finalize(value: object) -> object:
    """What the template prints; None is unknown and prints nothing."""
    if value is None:
        return ""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible(value)
    return value


def _address(view: str, **settings: str) -> str:
    """The address of a view in the page, as `address.js` makes it; `@4`: the fifth of its kind."""
    pairs = (f"{key}={quote(text, safe='', errors='replace')}" for key, text in settings.items())
    return f"#{view}/{'&'.join(pairs)}"


def _name(text: str, index: int) -> str:
    """What names one of a list in an address: its index where its own name is too long."""
    if len(text) > _LONGEST:
        return f"@{index}"
    return text


def _failing_tests(report: dict[str, Any]) -> list[int]:
    """Indices of the tests whose last outcome is a failure or an error."""
    outcomes = report["tests"]["outcome"]
    return [index for index, code in enumerate(outcomes) if code in ("f", "e", "F", "E")]


def _forbidden_imports(report: dict[str, Any]) -> list[list[Any]]:
    return [row for row in report["imports"] if row[3] == 1]


def _day(moment: str) -> str:
    """A time as people read it: `2026-11-29 02:40 UTC`."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def _count(number: int) -> str:
    """A number with separators, as in `20,000`."""
    return f"{number:,}"


@cache
def _script() -> str:
    parts = [_text(f"script/{name}.js") for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


@cache
def _libraries() -> str:
    return "\n".join(_text(f"vendor/{record['file']}") for record in library_records())


@cache
def _licenses() -> tuple[tuple[str, str], ...]:
    """Package and text of each license, equal ones once."""
    packages: dict[str, list[str]] = {}
    for record in library_records():
        name = record["file"].removesuffix(".min.js")
        packages.setdefault(_text(f"vendor/{name}.LICENSE"), []).append(record["package"])
    return tuple((", ".join(names), text) for text, names in packages.items())


def _text(name: str) -> str:
    """A file of this package. Browsers hash what they have read: without carriage returns."""
    return (_FOLDER / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
