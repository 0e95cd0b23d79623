"""The least coverage that a suite asks for in its configuration: with less pytest ends with 1,
whatever its tests show.

pytest-cov judges the total of a run. It is known of a content on which all tests ran while it was
measured: what a change of code makes of it, no result of a test shows.
"""

from __future__ import annotations

import argparse
import configparser
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from kl_hooks.evidence.measured_coverage import MeasuredCoverage
from kl_hooks.proof.pytest_config import PytestConfig

_DEFAULT_CONFIG: Final = ".coveragerc"
_OTHER_CONFIGS: Final = (".coveragerc.toml", "setup.cfg", "tox.ini", "pyproject.toml")
"""Where coverage.py looks after `.coveragerc`, in this order; the first that configures it counts
(its `config_files_to_try`, 7.11).
"""
_LARGEST_CONFIG: Final = 1_000_000
"""Bytes of a configuration file that is read."""


class LeastCoverage(NamedTuple):
    """What one configuration asks for."""

    path: str
    """The file that asks, from the repository's root."""
    percent: float
    folder: str = ""
    """Where pytest is started for it; empty: the repository's root."""

    def is_met_by(self, coverage: MeasuredCoverage) -> bool:
        """Whether coverage.py would not complain: it rounds before it compares, but 99.9 is never
        100.
        """
        if self.percent == 100:
            return coverage.hundredths == 10_000
        return coverage.rounded >= self.percent


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parser() -> argparse.ArgumentParser:
    """Those options of pytest-cov that decide whether a total is judged."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--cov", action="append", nargs="?", const=True)
    parser.add_argument("--cov-reset", dest="cov", action="store_const", const=[])
    parser.add_argument("--no-cov", action="store_true")
    parser.add_argument("--cov-fail-under", type=float)
    parser.add_argument("--cov-config", default=_DEFAULT_CONFIG)
    return parser


def least_coverage(
    configs: Iterable[PytestConfig], read: Callable[[str], bytes | None]
) -> tuple[LeastCoverage, ...]:
    """What these configurations of pytest ask for in every run. `read`: a path from the
    repository's root → the content of the file; None where there is none.
    """
    asked = (_of_config(config, read) for config in dict.fromkeys(configs))
    return tuple(least for least in asked if least is not None)


def _of_config(config: PytestConfig, read: Callable[[str], bytes | None]) -> LeastCoverage | None:
    try:
        options = _parser().parse_known_args(list(config.addopts))[0]
    except ValueError:
        return None
    if not options.cov or options.no_cov:
        return None
    percent = options.cov_fail_under
    path = config.path
    if percent is None:
        path, percent = _of_coverage_files(options.cov_config, config.folder, read)
    if percent <= 0:
        return None
    return LeastCoverage(path, percent, config.folder)


def _of_coverage_files(
    first: str, folder: str, read: Callable[[str], bytes | None]
) -> tuple[str, float]:
    """The file that configures coverage.py and what it asks for; 0 where none asks."""
    for name in (first, *_OTHER_CONFIGS):
        path = f"{folder}/{name}" if folder else name
        content = read(path)
        if content is None or len(content) > _LARGEST_CONFIG:
            continue
        is_own = name in (first, ".coveragerc.toml")
        try:
            reports = list(_reports(name, content, is_own))
        except (ValueError, configparser.Error, RecursionError):
            continue
        if reports or is_own:
            asked = [report["fail_under"] for report in reports if "fail_under" in report]
            return path, _number(asked[0]) if asked else 0
    return "", 0


def _reports(name: str, content: bytes, is_own: bool) -> Iterator[Mapping[str, Any]]:
    """The tables of a file that configure coverage.py, `report` first. `is_own`: it is for
    coverage.py alone, so that its sections may have plain names.
    """
    text = content.decode("utf-8-sig")
    if name.endswith(".toml"):
        document = tomllib.loads(text)
        tool = document.get("tool")
        table = tool.get("coverage") if isinstance(tool, dict) else None
        if table is None and is_own:
            table = document
        if isinstance(table, dict):
            report = table.get("report")
            yield report if isinstance(report, dict) else {}
        return
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    for section in ("coverage:report", *(["report"] if is_own else [])):
        if parser.has_section(section):
            yield dict(parser.items(section))
    if any(section.startswith("coverage:") for section in parser.sections()):
        yield {}


def _number(value: object) -> float:
    """0 for what coverage.py would refuse: then pytest fails in every run."""
    try:
        return float(str(value))
    except ValueError:
        return 0
