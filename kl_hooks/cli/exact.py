"""Printing a text whose length was promised: character for character, whatever the terminal can show."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click


def say_exactly(text: str, environ: Mapping[str, str]) -> None:
    """To stdout, character for character: where only ASCII is asked for, one stands for one, so the budget holds."""
    locale = next((environ[k] for k in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(k)), "")
    encoding = "ascii" if locale in ("C", "POSIX") else sys.stdout.encoding or "utf-8"
    text = text.encode("utf-8", "replace").decode()
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate({ord("·"): "-", ord("…"): "~"}).encode(encoding, "replace").decode(encoding)
    click.echo(text, nl=False)
