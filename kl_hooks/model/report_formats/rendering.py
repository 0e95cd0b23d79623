"""Findings in one of the formats.

The module of a format has `render(reports, command, place)`: the whole output, with a line end;
empty where there is nothing to report. `command` is the one of kl that lists all findings, `place`
the file of findings in the content as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from kl_hooks.model.diagnostic import Report

_PACKAGE: Final = "kl_hooks.model.report_formats"


def render(name: str, reports: Sequence[Report], command: str, place: str) -> str:
    """The findings in a format, by the name of its module. A format is imported when it is asked
    for.
    """
    module = import_module(f"{_PACKAGE}.{name}")
    return str(module.render(reports, command, place))
