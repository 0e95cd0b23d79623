"""`kl arch show`: a picture of the layers and of what is imported across them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace


@click.command(epilog="Example: kl arch show")
@format_option()
def show(shape: str) -> None:
    """Show the layers as they are stacked, what each imports from which, and what breaks the manifest.

    Of the files as they are on disk. The same stands below as a table. Box characters where the terminal has them
    (a UTF-8 locale), ASCII otherwise. Violations are red, accepted ones yellow (not with NO_COLOR). To get an exit
    code, use: kl arch check
    """
    from kl_hooks.arch.looking.overview import SCHEMA, look, plain
    from kl_hooks.arch.looking.picture import picture

    seen, notes = look(workspace())
    for remark in notes:
        note(remark)
    if shape == "json":
        say_json(plain(seen) if seen else {"schema": SCHEMA, "manifest": None, "layers": [], "arrows": []})
        return
    if seen is None:
        say("no .kl/architecture.yaml in this repository - nothing to show. Create one with: kl init")
        return
    for line in picture(seen, _has_boxes(os.environ)):
        say(line, **_painted(line))


def _painted(line: str) -> dict[str, int]:
    """What breaks the manifest in red, what is accepted or excepted in yellow; nothing is said by colour alone."""
    from kl_hooks.arch.looking.picture import ASCII, BOX

    signs = [sign for some in (BOX, ASCII) for sign in (f" {some.broken} ", f" {some.excepted} ", " no: ")]
    start = max(line.rfind(sign) for sign in signs) + 1
    if start == 0 or line.startswith("  legend"):
        return {}
    new = " NEW" in line[start:] or " new" in line[start:]
    return {"red" if new else "yellow": start}


def _has_boxes(environ: Mapping[str, str]) -> bool:
    """True in a UTF-8 locale; Python itself writes UTF-8 even where the locale is C."""
    locale = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "C")
    stated = locale.lower().replace("-", "").endswith("utf8") or "utf8." in locale.lower().replace("-", "")
    return stated and "utf" in (getattr(sys.stdout, "encoding", "") or "").lower()
